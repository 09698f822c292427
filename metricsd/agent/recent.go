package agent

import (
	"sync"
	"time"
)

// maxRecent bounds the items that are kept to be shown.
const maxRecent = 64

// Recent keeps the latest items, to show them to the operator.
type Recent[T any] struct {
	mu    sync.Mutex
	items []Timed[T]
	next  int
}

// Timed is an item and the time of its arrival.
type Timed[T any] struct {
	Time time.Time `json:"time"`
	Item T         `json:"item"`
}

// Add keeps an item. It replaces the oldest when there is no room.
func (r *Recent[T]) Add(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	timed := Timed[T]{time.Now().UTC(), item}
	if len(r.items) < maxRecent {
		r.items = append(r.items, timed)
		return
	}
	r.items[r.next] = timed
	r.next = (r.next + 1) % maxRecent
}

// List returns the items, the oldest first.
func (r *Recent[T]) List() []Timed[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Timed[T], 0, len(r.items))
	list = append(list, r.items[r.next:]...)
	return append(list, r.items[:r.next]...)
}
