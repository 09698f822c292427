package flow

import (
	"encoding/json"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
)

// A memory caches what a session has read from the store and cannot change: prompts quote the
// same few candidates and verdicts again and again. It holds the session's own writes as they
// would be read back, so that a resumed run sees the same to the last bit. Callers share its
// values and must not change them.
type memory struct {
	mu         sync.Mutex
	candidates map[string]beagle.Candidate
	verdicts   map[string]beagle.Verdict
	insights   map[string]*bench.Insight
}

// memorable bounds each kind of value in memory. At the bound the memory forgets all, so that a
// long run does not grow with its candidates.
const memorable = 1024

// forget drops what is held.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.candidates, m.verdicts, m.insights = nil, nil, nil
}

func (m *memory) candidate(id string) (beagle.Candidate, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.candidates[id]
	return c, ok
}

func (m *memory) verdict(id string) (beagle.Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.verdicts[id]
	return v, ok
}

func (m *memory) insight(id string) (*bench.Insight, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in, ok := m.insights[id]
	return in, ok
}

func (m *memory) keepInsight(id string, in *bench.Insight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.insights = hold(m.insights, id, in)
}

func (m *memory) keepCandidate(c beagle.Candidate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.candidates = hold(m.candidates, c.ID, c)
}

// keepVerdict caches a verdict that cannot change. A duplicate of one run is judged anew in the
// next.
func (m *memory) keepVerdict(id string, v beagle.Verdict) {
	if v.Status == beagle.Duplicate {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.verdicts = hold(m.verdicts, id, v)
}

// roundTrip returns v as the store would give it back.
func roundTrip[T any](v T) (out T, ok bool) {
	text, err := json.Marshal(v)
	return out, err == nil && json.Unmarshal(text, &out) == nil
}

// hold adds a value to a bounded cache.
func hold[T any](m map[string]T, id string, v T) map[string]T {
	if m == nil || len(m) >= memorable {
		m = map[string]T{}
	}
	m[id] = v
	return m
}
