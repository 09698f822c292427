package aggregate

import (
	"hash/maphash"
	"slices"
)

// tagSets finds contexts that have the same tags, as the metrics of one pod do, so that they share
// one list. It knows one context for each list. When that context expires, the others keep the
// list, and the next new context gets its own.
type tagSets struct {
	seed  maphash.Seed
	first map[uint64]*entry // by the hash of their tags
}

func newTagSets() tagSets {
	return tagSets{seed: maphash.MakeSeed(), first: make(map[uint64]*entry)}
}

// enter gives a new entry a list that equals tags, which is the caller's.
func (t *tagSets) enter(e *entry, tags []string) {
	if len(tags) == 0 {
		return
	}
	hash := t.hash(tags)
	if first := t.first[hash]; first != nil && slices.Equal(first.Tags, tags) {
		e.Tags = first.Tags
		return
	}
	e.Tags = slices.Clone(tags)
	t.first[hash] = e
}

// leave forgets an entry.
func (t *tagSets) leave(e *entry) {
	if hash := t.hash(e.Tags); t.first[hash] == e {
		delete(t.first, hash)
	}
}

// hash depends on the order of tags: lists in another order are other lists.
func (t *tagSets) hash(tags []string) (hash uint64) {
	for _, tag := range tags {
		hash = (hash ^ maphash.String(t.seed, tag)) * 0x9e3779b97f4a7c15
	}
	return hash
}
