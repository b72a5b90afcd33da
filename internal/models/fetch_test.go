package models

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestFetchDownloadsChecksAndReports(t *testing.T) {
	s := fakeStore(t, serve(content))
	var last Progress
	if err := s.Fetch(t.Context(), nil, func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Verify("tiny"); err != nil || f.Path != filepath.Join(s.cache, "tiny.onnx") {
		t.Errorf("%+v, %v", f, err)
	}
	if !last.Done || last.Present || last.Bytes != int64(len(content)) || last.Model.Name != "tiny" {
		t.Errorf("last progress %+v", last)
	}
	if got := files(t, s); len(got) != 1 {
		t.Errorf("cache holds %v; the optional model and temporary files should not be there", got)
	}
}

func TestFetchLeavesGoodFilesAndReplacesDamagedOnes(t *testing.T) {
	var calls atomic.Int32
	s := fakeStore(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		serve(content)(w, r)
	})
	put(t, s.dirs[1], "tiny.onnx", "damaged")
	if err := s.Fetch(t.Context(), []string{"tiny"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Verify("tiny"); err != nil || calls.Load() != 1 {
		t.Fatalf("after replacing: %v, %d requests", err, calls.Load())
	}
	present := false
	if err := s.Fetch(t.Context(), []string{"tiny"}, func(p Progress) { present = p.Present && p.Done }); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 1 || !present {
		t.Errorf("%d requests, present %t", calls.Load(), present)
	}
}

func TestFetchRefusesWhatIsNotTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		origin http.HandlerFunc
		want   error
		says   string
	}{
		"wrong content": {serve("something else"), ErrHash, sum("something else")},
		"not there":     {http.NotFound, ErrDownload, "404"},
		"server error":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, ErrDownload, "503"},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(content))
		}, ErrDownload, "unexpected EOF"},
		"empty": {serve(""), ErrHash, sum("")},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeStore(t, c.origin)
			err := s.Fetch(t.Context(), []string{"tiny"}, nil)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v; want %v with %q", err, c.want, c.says)
			}
			if got := files(t, s); len(got) != 0 {
				t.Errorf("cache holds %v", got)
			}
		})
	}
}

func TestFetchCanBeCancelledAndRepeated(t *testing.T) {
	var calls atomic.Int32
	s := fakeStore(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			serve(content)(w, r)
			return
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(content[:5]))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // never sends the rest
	})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Fetch(ctx, []string{"tiny"}, func(p Progress) {
		if p.Bytes > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrDownload) {
		t.Fatalf("error %v; want a cancelled download", err)
	}
	if got := files(t, s); len(got) != 0 {
		t.Errorf("cache holds %v", got)
	}
	if err := s.Fetch(t.Context(), []string{"tiny"}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestFetchFailsClearly(t *testing.T) {
	s := fakeStore(t, serve(content))
	if err := s.Fetch(t.Context(), []string{"nope"}, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown name: %v", err)
	}
	put(t, filepath.Dir(s.cache), filepath.Base(s.cache), "a file in place of the folder")
	if err := s.Fetch(t.Context(), []string{"tiny"}, nil); !errors.Is(err, ErrDownload) {
		t.Errorf("no cache folder: %v", err)
	}
	if err := os.Remove(s.cache); err != nil {
		t.Fatal(err)
	}
	s.models[0].URL = "http://127.0.0.1:1/tiny.onnx"
	if err := s.Fetch(t.Context(), []string{"tiny"}, nil); !errors.Is(err, ErrDownload) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("no server: %v", err)
	}
}
