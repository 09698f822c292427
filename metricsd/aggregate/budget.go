package aggregate

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// budget counts contexts and their bytes over all shards. It is asked only when
// a context comes or goes, and when a sketch has to cover more.
type budget struct {
	mu       sync.Mutex
	contexts int
	bytes    int
	origins  map[string]int
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

// give takes back a context's place, and what it has grown.
func (b *budget) give(c *Context, grown int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.contexts--
	b.bytes -= contextBytes(c) + grown
	if b.origins[c.Origin]--; b.origins[c.Origin] == 0 {
		delete(b.origins, c.Origin)
	}
}

// contextBytes estimates what a context takes: its strings, their headers, the
// entry and its share of the map, and the values that wait for a sketch's bins. Strings that contexts
// share are counted for each, so the estimate is on the safe side. What the bins take is asked for as
// they grow; the values of sets, which limits.set_exact bounds, are not in it.
func contextBytes(c *Context) int {
	const header, shareOfMap = 16, 32
	n := int(unsafe.Sizeof(entry{})) + shareOfMap + accumulatorBytes(c.Type) + len(c.Name) + len(c.Host) + len(c.Origin)
	for _, tag := range c.Tags {
		n += header + len(tag)
	}
	return n
}

func accumulatorBytes(t dogstatsd.Type) int {
	switch t {
	case dogstatsd.Count:
		return int(unsafe.Sizeof(counter{}))
	case dogstatsd.Gauge:
		return int(unsafe.Sizeof(gauge{}))
	case dogstatsd.Set:
		return int(unsafe.Sizeof(set{}))
	}
	return int(unsafe.Sizeof(sketch{}) + handful*unsafe.Sizeof(weighted{}))
}

// Origin is a sender, or what else holds contexts, and their number.
type Origin struct {
	Name     string
	Contexts int
}

// top returns the n origins with most contexts, the greatest first.
func (b *budget) top(n int) []Origin {
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
