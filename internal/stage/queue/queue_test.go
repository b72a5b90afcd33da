package queue

import (
	"context"
	"reflect"
	"testing"
)

func TestFairServesCamerasInTurnAndDropsTheOldest(t *testing.T) {
	q := New[int](3)
	var evicted []int
	push := func(camera string, items ...int) {
		for _, item := range items {
			if old, dropped := q.Push(camera, item); dropped {
				evicted = append(evicted, old)
			}
		}
	}
	push("a", 1, 2, 3, 4, 5)
	push("b", 11)
	push("c", 21, 22)
	var got []int
	for range 6 {
		item, ok := q.Pop(t.Context())
		if !ok {
			t.Fatal("Pop gave up")
		}
		got = append(got, item)
	}
	if want := []int{3, 11, 21, 4, 22, 5}; !reflect.DeepEqual(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	if want := []int{1, 2}; !reflect.DeepEqual(evicted, want) {
		t.Errorf("evicted %v, want %v", evicted, want)
	}
}

func TestPopEndsWithContext(t *testing.T) {
	q := New[int](1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() {
		_, ok := q.Pop(ctx)
		done <- ok
	}()
	cancel()
	if <-done {
		t.Error("Pop returned an item from an empty queue")
	}
}

func TestPopWakesUpForPush(t *testing.T) {
	q := New[int](1)
	done := make(chan int)
	go func() {
		item, _ := q.Pop(t.Context())
		done <- item
	}()
	q.Push("a", 7)
	if got := <-done; got != 7 {
		t.Errorf("got %d", got)
	}
}

func TestPoolKeepsACameraOnOneWorker(t *testing.T) {
	p := NewPool[string](2, 8)
	for _, camera := range []string{"a", "b", "c", "a", "b", "c"} {
		p.Push(camera, camera)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan [2]any, 6)
	for w := range p.Workers() {
		go p.Run(ctx, w, func(item string) { seen <- [2]any{item, w} })
	}
	worker := map[any]any{}
	for range 6 {
		s := <-seen
		if first, ok := worker[s[0]]; ok && first != s[1] {
			t.Errorf("camera %v was handled by workers %v and %v", s[0], first, s[1])
		}
		worker[s[0]] = s[1]
	}
	if worker["a"] == worker["b"] || worker["a"] != worker["c"] {
		t.Errorf("cameras are not spread in turn: %v", worker)
	}
}
