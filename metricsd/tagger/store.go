package tagger

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/beagle-go/beagle/metricsd/tag"
)

// StoreOptions bound what a [Store] keeps. The zero value of a field means its default.
type StoreOptions struct {
	// Most bounds the entities of all feeds, 20,000 unless set; the store refuses and counts
	// others.
	Most int
	// Keep is how long an entity stays after it was dropped, five minutes unless set: the last
	// messages of a container may come after its end.
	Keep time.Duration
	// Settle is how long changes wait for others before they are reported, a second unless set.
	Settle time.Duration
	Now    func() time.Time
}

// A Store collects the entities that feeds find: containers and pods that come and go. Several
// goroutines may use it.
type Store struct {
	options StoreOptions

	mu      sync.Mutex
	feeds   []*Feed
	count   int // entities of all feeds
	changed bool
}

// NewStore makes an empty store.
func NewStore(o StoreOptions) *Store {
	if o.Most == 0 {
		o.Most = 20_000
	}
	if o.Keep == 0 {
		o.Keep = 5 * time.Minute
	}
	if o.Settle == 0 {
		o.Settle = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{options: o}
}

// A Feed is one source of entities. They come in groups, a pod with its containers or a container
// alone, which are put and dropped as a whole.
type Feed struct {
	store   *Store
	groups  map[string]*group
	refused uint64
}

type group struct {
	entities map[string]Entity
	dropped  time.Time // zero while it is there
}

// Feed adds a source.
func (s *Store) Feed() *Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &Feed{store: s, groups: map[string]*group{}}
	s.feeds = append(s.feeds, f)
	return f
}

// Put sets the entities of a group. Earlier ones that the group no longer has stay for a while. If
// there is no room for the new ones, Put refuses them all, and the group keeps its old ones.
func (f *Feed) Put(name string, entities map[string]Entity) {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	old := f.groups[name]
	if old != nil && old.dropped.IsZero() && maps.EqualFunc(old.entities, entities, Entity.equal) {
		return
	}
	before := 0
	if old != nil {
		before = len(old.entities)
	}
	if s.count-before+len(entities) > s.options.Most {
		f.refused++
		if old != nil {
			old.dropped = time.Time{} // it is there, though not all of it is known
		}
		return
	}
	s.count += len(entities) - before
	delete(f.groups, name) // its place is free for the leftovers
	if old != nil {
		f.leave(name, old, entities)
	}
	f.groups[name] = &group{entities: entities}
	s.changed = true
}

// leave keeps the entities that a group no longer has as a dropped group of its own; the lock is
// held.
func (f *Feed) leave(name string, old *group, now map[string]Entity) {
	for id, e := range old.entities {
		if _, still := now[id]; still {
			continue
		}
		own := name + "\x00" + id
		if f.groups[own] == nil && f.store.count < f.store.options.Most {
			f.store.count++
			f.groups[own] = &group{map[string]Entity{id: e}, f.store.options.Now()}
		}
	}
}

// Drop says that a group has ended. Its entities stay for a while.
func (f *Feed) Drop(name string) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.drop(name)
}

func (f *Feed) drop(name string) {
	if g := f.groups[name]; g != nil && g.dropped.IsZero() {
		g.dropped = f.store.options.Now()
	}
}

// Sync drops the groups that are missing from a complete list.
func (f *Feed) Sync(there map[string]bool) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for name := range f.groups {
		if !there[name] {
			f.drop(name)
		}
	}
}

// Stats returns how many entities a feed has, ended ones included, and how often a group found no
// room.
func (f *Feed) Stats() (entities int, refused uint64) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for _, g := range f.groups {
		entities += len(g.entities)
	}
	return entities, f.refused
}

// Run reports all entities whenever they have changed, until ctx is done.
func (s *Store) Run(ctx context.Context, tell func(map[string]Entity)) {
	tick := time.NewTicker(s.options.Settle)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if all, changed := s.take(); changed {
				tell(all)
			}
		}
	}
}

// take forgets entities that were dropped long ago, and returns all others if something has
// changed.
func (s *Store) take() (all map[string]Entity, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Now()
	for _, f := range s.feeds {
		for name, g := range f.groups {
			if !g.dropped.IsZero() && now.Sub(g.dropped) >= s.options.Keep {
				s.count -= len(g.entities)
				delete(f.groups, name)
				s.changed = true
			}
		}
	}
	if !s.changed {
		return nil, false
	}
	s.changed = false
	all = make(map[string]Entity, s.count)
	for _, f := range s.feeds {
		for _, g := range f.groups {
			for id, e := range g.entities {
				all[id] = all[id].With(e)
			}
		}
	}
	return all, true
}

// With joins the tags of two sources of one entity.
func (e Entity) With(other Entity) Entity {
	join := func(a, b []string) []string {
		if len(a) == 0 || len(b) == 0 {
			return append(a[:len(a):len(a)], b...)
		}
		return tag.MergeTags(a, b)
	}
	return Entity{join(e.Low, other.Low), join(e.Orchestrator, other.Orchestrator), join(e.High, other.High)}
}

func (e Entity) equal(other Entity) bool {
	return slices.Equal(e.Low, other.Low) && slices.Equal(e.Orchestrator, other.Orchestrator) &&
		slices.Equal(e.High, other.High)
}
