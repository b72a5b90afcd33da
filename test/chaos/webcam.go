package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// webcam is a network camera: Motion-JPEG over HTTP at a camera's rate. It can be unplugged, and it can hang.
type webcam struct {
	frames [][]byte
	period time.Duration
	server *http.Server
	listen net.Listener

	mu   sync.Mutex
	gone chan struct{} // closed while the camera is unplugged
	hang bool
}

func newWebcam(port int, frames [][]byte, fps float64) (*webcam, error) {
	w := &webcam{frames: frames, period: time.Duration(float64(time.Second) / fps), gone: make(chan struct{})}
	var err error
	if w.listen, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
		return nil, err
	}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: time.Second}
	go func() { _ = w.server.Serve(w.listen) }() // until close
	return w, nil
}

func (w *webcam) state() (gone chan struct{}, hang bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone, w.hang
}

func (w *webcam) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	gone, _ := w.state()
	select {
	case <-gone:
		panic(http.ErrAbortHandler) // nobody is there
	default:
	}
	out.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=frame")
	tick := time.NewTicker(w.period)
	defer tick.Stop()
	for i := 0; ; {
		select {
		case <-r.Context().Done():
			return
		case <-gone:
			panic(http.ErrAbortHandler)
		case <-tick.C:
		}
		if _, hang := w.state(); hang {
			continue
		}
		f := w.frames[i%len(w.frames)]
		i++
		_, err := fmt.Fprintf(out, "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n", len(f), f)
		if err = errors.Join(err, http.NewResponseController(out).Flush()); err != nil {
			return
		}
	}
}

// unplug ends all connections and takes no more until the returned function is called.
func (w *webcam) unplug() (plug func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.gone)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gone = make(chan struct{})
	}
}

// freeze sends nothing until the returned function is called.
func (w *webcam) freeze() (thaw func()) {
	set := func(hang bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hang = hang
	}
	set(true)
	return func() { set(false) }
}

func (w *webcam) close() error {
	if gone, _ := w.state(); gone != nil {
		w.unplug()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return w.server.Shutdown(ctx)
}
