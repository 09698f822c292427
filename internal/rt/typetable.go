package rt

import (
	"reflect"
	"sync"
)

// A typeTable keeps what was found out about types. A sync.Map would be compiled into the program
// anew, which takes as long as thirty of the functions here.
type typeTable struct {
	mu    sync.RWMutex
	known map[reflect.Type]any
}

// get returns what is known of a type; nil if nothing is.
func (t *typeTable) get(of reflect.Type) any {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known[of]
}

// keep enters what was found out, unless another goroutine was first, and returns what is known.
func (t *typeTable) keep(of reflect.Type, found any) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was := t.known[of]; was != nil {
		return was
	}
	if t.known == nil {
		t.known = map[reflect.Type]any{}
	}
	t.known[of] = found
	return found
}
