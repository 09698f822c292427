package aggregate

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/store"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// budget counts contexts and their bytes over all shards, and holds the lists of tags that contexts
// share. It is consulted only when a context comes or goes, and when a sketch grows.
type budget struct {
	mu       sync.Mutex
	contexts int
	bytes    int
	origins  map[string]int
	tagSets  tagSets
}

func newBudget() *budget {
	return &budget{origins: make(map[string]int), tagSets: newTagSets()}
}

// share gives a new entry its tags; the slice stays the caller's.
func (b *budget) share(e *entry, tags []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tagSets.enter(e, tags)
}

// refusal names the bound that a new context met.
type refusal int

const (
	accepted refusal = iota
	overContexts
	overOrigin
	overBytes
)

func (b *budget) take(c *Context, limits *Limits) refusal {
	size := contextBytes(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case limits.Contexts > 0 && b.contexts >= limits.Contexts:
		return overContexts
	case limits.PerOrigin > 0 && b.origins[c.Origin] >= limits.PerOrigin:
		return overOrigin
	case limits.Bytes > 0 && b.bytes+size > limits.Bytes:
		return overBytes
	}
	b.contexts++
	b.bytes += size
	b.origins[c.Origin]++
	return accepted
}

// grow takes bytes for a known context, if there is room.
func (b *budget) grow(bytes int, limits *Limits) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limits.Bytes > 0 && b.bytes+bytes > limits.Bytes {
		return false
	}
	b.bytes += bytes
	return true
}

func (b *budget) shrink(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= bytes
}

// give returns an entry's place and its memory.
func (b *budget) give(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.contexts--
	b.bytes -= contextBytes(&e.Context) + e.accumulator.heldBytes()
	b.tagSets.leave(e)
	if b.origins[e.Origin]--; b.origins[e.Origin] == 0 {
		delete(b.origins, e.Origin)
	}
}

// contextBytes estimates what a context takes: its strings, their headers, the entry and its share
// of the lists, and the values that wait for a sketch's bins. Strings and lists of tags that
// contexts share are counted for each, so the estimate is on the safe side. Memory of a sketch
// counts as it grows. The values of sets do not count, since limits.set_exact bounds them.
func contextBytes(c *Context) int {
	const header = 16
	n := shareOfLists + objectBytes[c.Type] + stringBytes(c.Name) + stringBytes(c.Host) + stringBytes(c.Origin)
	if len(c.Tags) > 0 {
		n += shareOfTagSets
	}
	for _, tag := range c.Tags {
		n += header + stringBytes(tag)
	}
	return n
}

// shareOfLists is for an entry's place in the map, and in the list of what has samples. The map has
// 18 bytes a place, and half of its places are empty after it has grown. The list has room for up
// to twice its length. shareOfTagSets is for its place in the map of tags.
const (
	shareOfLists   = shareOfTagSets + 2*8
	shareOfTagSets = 18 * 16 / 7
)

// stringBytes rounds up as the allocator does.
func stringBytes(s string) int { return (len(s) + 15) &^ 15 }

// objectBytes are the bytes of an entry with its accumulator, by type, and of the objects that the
// first sample allocates.
var objectBytes = func() (bytes [dogstatsd.Distribution + 1]int) {
	bytes[dogstatsd.Count] = allocated(unsafe.Sizeof(object[counter]{}))
	bytes[dogstatsd.Gauge] = allocated(unsafe.Sizeof(object[gauge]{}))
	// A map of up to eight strings is a header and one group of places.
	const mapOfOne = 48 + 208
	bytes[dogstatsd.Set] = allocated(unsafe.Sizeof(object[set]{})) + mapOfOne
	for t := dogstatsd.Timing; t <= dogstatsd.Distribution; t++ {
		bytes[t] = allocated(unsafe.Sizeof(object[sketch]{})) + handful*int(unsafe.Sizeof(weighted{}))
	}
	return bytes
}()

// summaryBytes are the bytes of a sketch without bins.
var summaryBytes = allocated(unsafe.Sizeof(Summary{})) + allocated(unsafe.Sizeof(ddsketch.DDSketch{})) +
	2*allocated(unsafe.Sizeof(store.CollapsingLowestDenseStore{}))

// allocated returns the size that the allocator gives an object of n bytes.
func allocated(bytes uintptr) int { return cap(append([]byte(nil), make([]byte, bytes)...)) }

// Origin is a sender or another holder of contexts, with their number.
type Origin struct {
	Name     string
	Contexts int
}

// largest returns the n origins with most contexts, the greatest first.
func (b *budget) largest(n int) []Origin {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Top(b.origins, n)
}

// Top returns the n names with most contexts, the greatest first.
func Top(by map[string]int, n int) []Origin {
	all := make([]Origin, 0, len(by))
	for name, contexts := range by {
		all = append(all, Origin{name, contexts})
	}
	slices.SortFunc(all, func(x, y Origin) int {
		return cmp.Or(cmp.Compare(y.Contexts, x.Contexts), cmp.Compare(x.Name, y.Name))
	})
	return all[:min(n, len(all))]
}
