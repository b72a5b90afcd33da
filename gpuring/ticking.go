package gpuring

import "time"

// ticking calls a function at an interval until it is stopped.
type ticking struct{ quit, done chan struct{} }

func every(interval time.Duration, do func()) *ticking {
	t := &ticking{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-t.quit:
				return
			case <-ticker.C:
				do()
			}
		}
	}()
	return t
}

// stop returns when the function runs no more. It may be called once.
func (t *ticking) stop() {
	close(t.quit)
	<-t.done
}
