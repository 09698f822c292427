package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/beagle-go/beagle"
)

// A Key says everything that a result depends on. A result is used again in
// any run whose key is the same.
type Key struct {
	Kind      string `json:"kind"`      // which stage made it: "quick", "screen", "full", ...; names a directory
	Candidate string `json:"candidate"` // Candidate.ID
	Corpus    string `json:"corpus"`    // Corpus.ID
	Toolchain string `json:"toolchain"` // go version and the settings that change code
	Machine   string `json:"machine"`   // kind of machine, not its name: results of one serve another of the same kind
	Extra     string `json:"extra,omitempty"`
}

// ID returns the hash of the key.
func (k Key) ID() string { return beagle.HashOf("cache", k) }

type entry struct {
	Key   Key             `json:"key"`
	Sum   string          `json:"sum"` // of Value
	Value json.RawMessage `json:"value"`
}

// Cache keeps a result under its key.
func (s *Store) Cache(k Key, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("store: cache %s: %w", k.Kind, err)
	}
	data, err := json.Marshal(entry{Key: k, Sum: sum(value), Value: value})
	if err != nil {
		return fmt.Errorf("store: cache %s: %w", k.Kind, err)
	}
	return s.write(s.cachePath(k), data, false)
}

// Cached reads the result that was kept under a key into v, and reports whether there is one. A
// damaged entry counts as missing.
func (s *Store) Cached(k Key, v any) bool {
	data, err := os.ReadFile(s.cachePath(k))
	if err != nil {
		return false
	}
	var e entry
	if json.Unmarshal(data, &e) != nil || e.Key != k || sum(e.Value) != e.Sum {
		return false
	}
	return json.Unmarshal(e.Value, v) == nil
}

func (s *Store) cachePath(k Key) string {
	id := k.ID()
	return filepath.Join(s.home, "cache", k.Kind, prefix(id), id+".json")
}
