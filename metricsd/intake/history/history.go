// Package history remembers the names that were seen lately, each for a bounded time, within
// bounded memory. They are too many to keep as text.
//
// A name is kept as 64 bits of a seeded hash, with the epoch in which it was last
// seen. Integer keys cost a third of string keys to look up (Datadog measured a
// factor of five before Go hashed strings with AES), and since a map of integers to
// nothing takes the same room as one to a small integer, the stamp is free.
//
// The set is sharded: workers rarely wait for one another, and no map ever grows by
// so much at once that a look-up waits for it.
//
// # Limits
//
// Two names may share their 64 bits: with ten million names the chance is about one
// in 300,000 that any two do. The second would then not be reported as new.
package history

import (
	"hash/maphash"
	"sync"
)

// shards is a power of two.
const shards = 64

// A Set remembers keys. It may be used by several goroutines.
type Set struct {
	seed   maphash.Seed
	owners maphash.Seed
	most   int // per shard
	shards [shards]shard
}

type shard struct {
	mu      sync.Mutex
	seen    map[uint64]uint32 // key -> epoch in which it was last seen
	refused uint64
	_       [64]byte // a shard's lock is not to share a line with its neighbour's
}

// New makes a set that holds a bounded number of keys.
func New(most int) *Set {
	s := &Set{seed: maphash.MakeSeed(), owners: maphash.MakeSeed(), most: max(1, most/shards)}
	for i := range s.shards {
		s.shards[i].seen = map[uint64]uint32{}
	}
	return s
}

// Key returns the key of a name of a kind. Keys of different sets differ, so nobody can make names
// that collide.
func (s *Set) Key(kind byte, name string) uint64 {
	const odd = 0x9e3779b97f4a7c15 // far apart for adjacent kinds
	return maphash.String(s.seed, name) + uint64(kind)*odd
}

// Owner returns the number to add to the keys of an owner's names, so that they differ from those
// of others. It has a seed of its own, so that a name equal to an owner's does not take its place.
func (s *Set) Owner(name string) uint64 { return maphash.String(s.owners, name) }

// See stamps a key with the epoch and reports whether it was unknown. In a full shard an unknown
// key stays unknown: it will be reported as new again, which costs a needless write and loses
// nothing.
func (s *Set) See(key uint64, epoch uint32) (fresh bool) {
	sh := &s.shards[key%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, known := sh.seen[key]
	if !known && len(sh.seen) >= s.most {
		sh.refused++
		return true
	}
	sh.seen[key] = epoch
	return !known
}

// Expire forgets names that were last seen before an epoch. Names seen in the future come from a
// clock that ran ahead; they count as seen now, so that they do not stay until then. It locks one
// shard at a time.
func (s *Set) Expire(before, now uint32) (gone int) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for key, epoch := range sh.seen {
			if epoch < before {
				delete(sh.seen, key)
				gone++
			} else if epoch > now {
				sh.seen[key] = now
			}
		}
		sh.mu.Unlock()
	}
	return gone
}

// Len returns how many keys are known, and how often a key found no room.
func (s *Set) Len() (known int, refused uint64) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		known += len(sh.seen)
		refused += sh.refused
		sh.mu.Unlock()
	}
	return known, refused
}
