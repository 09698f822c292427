package names

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Look bounds the bytes that a search for a substring reads.
	Look = 48 << 20
	// youngest is the number of names that are searched one by one before they become a segment.
	youngest = 1 << 13
)

// A Directory knows names and completes them. It may be used by several
// goroutines.
type Directory struct {
	most int
	room *Room // nil when only most bounds it

	mu       sync.RWMutex
	young    map[string]struct{}
	segments []*segment // the largest first
	count    int
	refused  uint64
	merging  bool
	merged   sync.WaitGroup
}

// New makes a directory that holds a bounded number of names.
func New(most int) *Directory {
	return &Directory{most: most, young: map[string]struct{}{}}
}

// A Room bounds the names of several directories together.
type Room struct{ left atomic.Int64 }

// NewRoom makes room for the given number of names.
func NewRoom(most int) *Room {
	r := new(Room)
	r.left.Store(int64(most))
	return r
}

// take takes room for n names, or for as many as there is.
func (r *Room) take(n int) int {
	if r == nil {
		return n
	}
	if left := r.left.Add(-int64(n)); left < 0 {
		back := min(int64(n), -left)
		r.left.Add(back)
		n -= int(back)
	}
	return n
}

// NewBounded makes a directory that holds a bounded number of names and shares a room with others.
func NewBounded(room *Room, most int) *Directory {
	d := New(most)
	d.room = room
	return d
}

// Add adds a name, if it is unknown and there is room.
func (d *Directory) Add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name == "" || d.has(name) {
		return
	}
	if d.count >= d.most || d.room.take(1) == 0 {
		d.refused++
		return
	}
	d.count++
	d.young[name] = struct{}{}
	if len(d.young) >= youngest {
		d.settle()
	}
}

// has reports whether a name is known; the lock is held.
func (d *Directory) has(name string) bool {
	if _, ok := d.young[name]; ok {
		return true
	}
	return slices.ContainsFunc(d.segments, func(s *segment) bool { return s.has(name) })
}

// settle makes a segment of the young names and merges segments until there are few; the lock is
// held.
func (d *Directory) settle() {
	names := make([]string, 0, len(d.young))
	for n := range d.young {
		names = append(names, n)
	}
	slices.Sort(names)
	d.insert(newSegment(names))
	clear(d.young)
}

// insert adds a segment and starts merging; the lock is held.
func (d *Directory) insert(s *segment) {
	d.segments = append(d.segments, s)
	slices.SortFunc(d.segments, func(x, y *segment) int { return y.len() - x.len() })
	if !d.merging {
		d.merging = true
		d.merged.Go(d.mergeAll)
	}
}

// mergeAll merges as long as a segment is less than twice as large as the next.
func (d *Directory) mergeAll() {
	for {
		d.mu.Lock()
		a, b := d.similarSegments()
		if a == nil {
			d.merging = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		joined := merge(a, b)
		d.mu.Lock()
		d.segments = slices.DeleteFunc(d.segments, func(s *segment) bool { return s == a || s == b })
		d.segments = append(d.segments, joined)
		slices.SortFunc(d.segments, func(x, y *segment) int { return y.len() - x.len() })
		d.mu.Unlock()
	}
}

// similarSegments returns the two smallest segments of about the same size; the lock is held.
func (d *Directory) similarSegments() (a, b *segment) {
	for i := len(d.segments) - 1; i > 0; i-- {
		a, b := d.segments[i-1], d.segments[i]
		if a.len() < 2*b.len() && len(a.text)+len(b.text) <= math.MaxUint32 {
			return a, b
		}
	}
	return nil, nil
}

// Wait waits until no merge is under way.
func (d *Directory) Wait() { d.merged.Wait() }

// Len returns how many names are known and how many found no room.
func (d *Directory) Len() (known int, refused uint64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.count, d.refused
}

// Prefix returns the first names, in order, that begin with the text.
func (d *Directory) Prefix(prefix string, most int) []string {
	found, segments := d.look(func(name string) bool { return strings.HasPrefix(name, prefix) })
	for _, s := range segments {
		found = append(found, s.prefix(prefix, most)...)
	}
	return sortAndCut(found, most)
}

// Contains returns names that hold the substring, in order. They are the first ones of every
// segment, so there may be others between them. cut reports that not all names were searched.
func (d *Directory) Contains(part string, most int) (names []string, cut bool) {
	if part == "" {
		return d.Prefix("", most), false
	}
	found, segments := d.look(func(name string) bool { return strings.Contains(name, part) })
	left := Look
	for _, s := range segments {
		some, read := s.contains([]byte(part), most, left)
		found = append(found, some...)
		if left -= read; left <= 0 {
			cut = true
			break
		}
	}
	return sortAndCut(found, most), cut
}

// look searches the young names and returns the segments as they are now.
func (d *Directory) look(fits func(string) bool) (found []string, _ []*segment) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for name := range d.young {
		if fits(name) {
			found = append(found, name)
		}
	}
	return found, slices.Clone(d.segments)
}

// sortAndCut sorts and cuts. During a merge it may meet a name twice.
func sortAndCut(names []string, most int) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), most)]
}

// Fill adds sorted, different names at once: those that were known before a restart.
func (d *Directory) Fill(names []string) {
	if len(names) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" || d.has(n) })
	room := d.room.take(min(len(names), d.most-d.count))
	d.refused += uint64(len(names) - room)
	if room == 0 {
		return
	}
	d.count += room
	d.insert(newSegment(names[:room]))
}
