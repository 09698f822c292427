package names

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// blockNames is how many neighbours are indexed as one.
const blockNames = 256

// A segment is a sorted list of names that never changes.
type segment struct {
	text  []byte   // all names, one after another
	ends  []uint32 // name i is text[ends[i-1]:ends[i]]
	grams map[uint32]*roaring.Bitmap
}

// newSegment makes a segment of names that are sorted and differ.
func newSegment(names []string) *segment {
	size := 0
	for _, n := range names {
		size += len(n)
	}
	s := &segment{text: make([]byte, 0, size), ends: make([]uint32, 0, len(names))}
	for _, n := range names {
		s.text = append(s.text, n...)
		s.ends = append(s.ends, uint32(len(s.text)))
	}
	s.index()
	return s
}

// merge joins two segments that share no name.
func merge(a, b *segment) *segment {
	s := &segment{text: make([]byte, 0, len(a.text)+len(b.text)), ends: make([]uint32, 0, a.len()+b.len())}
	take := func(from *segment, i int) {
		s.text = append(s.text, from.name(i)...)
		s.ends = append(s.ends, uint32(len(s.text)))
	}
	i, j := 0, 0
	for i < a.len() || j < b.len() {
		if j == b.len() || i < a.len() && bytes.Compare(a.name(i), b.name(j)) < 0 {
			take(a, i)
			i++
		} else {
			take(b, j)
			j++
		}
	}
	s.index()
	return s
}

func (s *segment) len() int { return len(s.ends) }

func (s *segment) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(s.ends[i-1])
}

func (s *segment) name(i int) []byte { return s.text[s.start(i):s.ends[i]] }

// A gram is one to three bytes; the length is its top byte.
func gram(b []byte) uint32 {
	g := uint32(len(b)) << 24
	for i, c := range b {
		g |= uint32(c) << (8 * i)
	}
	return g
}

// longest is the number of bytes of the longest gram; there are 2^26 grams of one to three bytes.
const longest = 3

// index notes the grams of every block.
func (s *segment) index() {
	s.grams = map[uint32]*roaring.Bitmap{}
	seen := gramSets.Get().(*gramSet)
	defer gramSets.Put(seen)
	for first := 0; first < s.len(); first += blockNames {
		for i := first; i < min(first+blockNames, s.len()); i++ {
			seen.addAll(s.name(i))
		}
		for _, g := range seen.list {
			blocks := s.grams[g]
			if blocks == nil {
				blocks = roaring.New()
				s.grams[g] = blocks
			}
			blocks.Add(uint32(first / blockNames))
		}
		seen.clear()
	}
	for _, blocks := range s.grams {
		blocks.RunOptimize()
	}
}

// A gramSet is the grams of one block: a bit for every possible gram, and a list of the present
// ones, so that clearing costs no more than filling.
type gramSet struct {
	bits [1 << 26 / 64]uint64
	list []uint32
}

var gramSets = sync.Pool{New: func() any { return new(gramSet) }}

func (s *gramSet) addAll(name []byte) {
	for i := range name {
		for n := 1; n <= longest && i+n <= len(name); n++ {
			g := gram(name[i : i+n])
			if bit := uint64(1) << (g % 64); s.bits[g/64]&bit == 0 {
				s.bits[g/64] |= bit
				s.list = append(s.list, g)
			}
		}
	}
}

func (s *gramSet) clear() {
	for _, g := range s.list {
		s.bits[g/64] = 0
	}
	s.list = s.list[:0]
}

// place returns the place of a name, or its place if it were there.
func (s *segment) place(name string) int {
	return sort.Search(s.len(), func(i int) bool { return string(s.name(i)) >= name })
}

func (s *segment) has(name string) bool {
	i := s.place(name)
	return i < s.len() && string(s.name(i)) == name
}

// prefix returns the first names that begin so.
func (s *segment) prefix(prefix string, most int) (found []string) {
	for i := s.place(prefix); i < s.len() && len(found) < most; i++ {
		name := string(s.name(i))
		if !strings.HasPrefix(name, prefix) {
			break
		}
		found = append(found, name)
	}
	return found
}

// contains returns the first names that hold the substring. It reads at most look bytes and returns
// how many it read.
func (s *segment) contains(part []byte, most, look int) (found []string, read int) {
	blocks := s.candidates(part)
	if blocks == nil {
		return nil, 0
	}
	for it := blocks.Iterator(); it.HasNext() && len(found) < most && read < look; {
		first := int(it.Next()) * blockNames
		last := min(first+blockNames, s.len())
		found = s.scan(found, part, first, last, most)
		read += int(s.ends[last-1]) - s.start(first)
	}
	return found, read
}

// candidates returns the blocks that hold all grams of a substring; nil for none.
func (s *segment) candidates(part []byte) *roaring.Bitmap {
	n := min(longest, len(part))
	var all []*roaring.Bitmap
	for i := 0; i+n <= len(part); i++ {
		blocks := s.grams[gram(part[i:i+n])]
		if blocks == nil {
			return nil
		}
		all = append(all, blocks)
	}
	slices.SortFunc(all, func(a, b *roaring.Bitmap) int { return int(a.GetCardinality()) - int(b.GetCardinality()) })
	return roaring.FastAnd(all...)
}

// scan reads through the names [first, last). A find that lies across two names does not count.
func (s *segment) scan(found []string, part []byte, first, last, most int) []string {
	for i := first; i < last && len(found) < most; {
		from := s.start(i)
		at := bytes.Index(s.text[from:s.ends[last-1]], part)
		if at < 0 {
			break
		}
		i += sort.Search(last-i, func(k int) bool { return int(s.ends[i+k]) > from+at })
		if from+at+len(part) > int(s.ends[i]) { // it begins here and ends in the next
			if bytes.Contains(s.name(i), part) {
				found = append(found, string(s.name(i)))
			}
			i++
			continue
		}
		found = append(found, string(s.name(i)))
		i++
	}
	return found
}
