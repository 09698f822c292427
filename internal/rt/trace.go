package rt

import (
	"math"
	"math/bits"
)

// A traced build calls the functions of this file at each decision of a
// version. They count, and hand their operands back unchanged. They allocate
// nothing; whatever goroutine calls them, they write into memory of fixed size.

// A traceSite holds the facts about one decision.
type traceSite struct {
	sides  uint8  // outcomes met in any run: 1 true, 2 false
	loop   bool   // outcome false means: reached and never entered
	logged uint8  // operand pairs of this run that were logged
	run    uint32 // the run that count belongs to
	count  [2]uint32
	counts uint64 // classes of count met: 0 to 31 of true, 32 to 63 of false
	near   uint64 // distances of operands met, by magnitude
	alike  uint64 // numbers of equal bits or bytes met
	places [4]uint64
}

// A tracePair holds the operands of one comparison.
type tracePair struct {
	site   uint32
	kind   uint8
	nx, ny uint8
	x, y   uint64
	xs, ys [maxPairText]byte
}

// Kinds of tracePair.
const (
	pairInt = iota
	pairText
	pairFloat
)

const (
	maxPairText  = 48 // bytes of a text that are kept
	maxSitePairs = 12 // pairs of one site in one run
)

// trace is the state of a traced process. sites is empty in any other, and in
// a traced one until the request is read.
var trace struct {
	sites   []traceSite
	run     uint32
	touched []uint32
	used    int // of touched
	fresh   int // features that the run was the first to show
	logging bool
	log     []tracePair
	pairs   int // of log
}

func startTrace(sites int) {
	trace.touched, trace.log = make([]uint32, sites), make([]tracePair, 1024)
	trace.sites = make([]traceSite, sites)
}

// beginRun starts to count one input.
func beginRun(logging bool) {
	trace.run++
	trace.used, trace.fresh, trace.pairs, trace.logging = 0, 0, 0, logging
}

// endRun returns how many features the input was the first to show.
func endRun() int {
	for _, id := range trace.touched[:trace.used] {
		s := &trace.sites[id]
		if s.loop && s.count[0] == 0 && s.sides&2 == 0 {
			s.sides |= 2
			trace.fresh++
		}
		class := uint64(1)<<(bits.Len32(s.count[0])&31) | uint64(1)<<(32+bits.Len32(s.count[1])&31)
		if s.counts&class != class {
			s.counts |= class
			trace.fresh++
		}
	}
	trace.logging = false
	return trace.fresh
}

// siteOf returns the site of an id, begun for this run; nil outside a search.
func siteOf(id uint32) *traceSite {
	if uint(id) >= uint(len(trace.sites)) {
		return nil
	}
	s := &trace.sites[id]
	if s.run != trace.run {
		s.run, s.count, s.logged = trace.run, [2]uint32{}, 0
		if trace.used < len(trace.touched) {
			trace.touched[trace.used] = id
			trace.used++
		}
	}
	return s
}

func (s *traceSite) took(side int) {
	s.count[side]++
	if s.sides&(1<<side) == 0 {
		s.sides |= 1 << side
		trace.fresh++
	}
}

func (s *traceSite) markMet(mask *uint64, bit int) {
	if b := uint64(1) << (bit & 63); *mask&b == 0 {
		*mask |= b
		trace.fresh++
	}
}

// TraceEdge counts an entry into a block.
func TraceEdge(id uint32) {
	if s := siteOf(id); s != nil {
		s.took(0)
	}
}

// TraceMark notes that a statement was reached. It guides no search.
func TraceMark(id uint32) {
	if uint(id) < uint(len(trace.sites)) {
		trace.sites[id].sides |= 1
	}
}

// TraceLoop counts that a loop was reached.
func TraceLoop(id uint32) {
	if s := siteOf(id); s != nil {
		s.loop = true
		s.count[1]++
	}
}

// TraceBranch counts the outcome of a condition.
func TraceBranch(id uint32, c bool) bool {
	if s := siteOf(id); s != nil {
		s.took(sideOf(c))
	}
	return c
}

func sideOf(c bool) int {
	if c {
		return 0
	}
	return 1
}

// Operators of TraceInt, TraceText and TraceFloat.
const (
	TraceEq = iota
	TraceNe
	TraceLt
	TraceLe
	TraceGt
	TraceGe
)

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// outcome evaluates the comparison that a decision made.
func outcome[T integer | ~string | ~float32 | ~float64](op int, x, y T) bool {
	switch op {
	case TraceEq:
		return x == y
	case TraceNe:
		return x != y
	case TraceLt:
		return x < y
	case TraceLe:
		return x <= y
	case TraceGt:
		return x > y
	}
	return x >= y
}

// TraceInt compares two integers.
func TraceInt[T integer](id uint32, op int, x, y T) bool {
	c := outcome(op, x, y)
	comparedInts(id, uint64(x), uint64(y), c)
	return c
}

func comparedInts(id uint32, x, y uint64, c bool) {
	s := siteOf(id)
	if s == nil {
		return
	}
	s.took(sideOf(c))
	s.noteDistance(x, y)
	if trace.logging && x != y {
		s.pair(id, pairInt, x, y)
	}
}

func (s *traceSite) noteDistance(x, y uint64) {
	d := x - y
	if int64(d) < 0 {
		d = -d
	}
	s.markMet(&s.near, distanceClass(d))
	if n := bits.OnesCount64(x ^ y); n <= maxOther {
		s.markMet(&s.alike, n)
	}
}

// maxOther bounds the number of differing bits of two operands that counts as news. Larger numbers
// are rare by chance, which would keep a search from its end, and bring the operands no nearer.
const maxOther = 12

// distanceClass returns a distance below 32 itself, and a magnitude above.
func distanceClass(d uint64) int {
	if d < 32 {
		return int(d)
	}
	return 32 + (bits.Len64(d)-6)/2
}

func (s *traceSite) pair(id uint32, kind uint8, x, y uint64) *tracePair {
	if s.logged >= maxSitePairs || trace.pairs >= len(trace.log) {
		return nil
	}
	s.logged++
	p := &trace.log[trace.pairs]
	p.site, p.kind, p.x, p.y = id, kind, x, y
	trace.pairs++
	return p
}

// TraceFloat compares two floating-point numbers.
func TraceFloat[T ~float32 | ~float64](id uint32, op int, x, y T) bool {
	c := outcome(op, x, y)
	if s := siteOf(id); s != nil {
		s.took(sideOf(c))
		a, b := math.Float64bits(float64(x)), math.Float64bits(float64(y))
		s.markMet(&s.near, bits.Len64(a^b))
		if trace.logging && a != b {
			s.pair(id, pairFloat, a, b)
		}
	}
	return c
}

// TraceText compares two strings.
func TraceText[T ~string](id uint32, op int, x, y T) bool {
	c := outcome(op, x, y)
	if s := siteOf(id); s != nil {
		s.took(sideOf(c))
		comparedTexts(s, id, x, y)
	}
	return c
}

func comparedTexts[T ~string | ~[]byte](s *traceSite, id uint32, x, y T) {
	n := 0
	for n < len(x) && n < len(y) && n < 62 && x[n] == y[n] {
		n++
	}
	s.markMet(&s.alike, n)
	s.markMet(&s.near, distanceClass(uint64(max(len(x)-len(y), len(y)-len(x)))))
	if !trace.logging || n == len(x) && n == len(y) {
		return
	}
	if p := s.pair(id, pairText, uint64(len(x)), uint64(len(y))); p != nil {
		p.nx, p.ny = uint8(copy(p.xs[:], x)), uint8(copy(p.ys[:], y))
	}
}

// TraceSwitch returns the operand of a switch over integers, with its constants. Each constant has
// a site, from id on.
func TraceSwitch[T integer](id uint32, x T, cases ...T) T {
	for i, y := range cases {
		comparedInts(id+uint32(i), uint64(x), uint64(y), x == y)
	}
	return x
}

// TraceSwitchText does what TraceSwitch does for strings.
func TraceSwitchText[T ~string](id uint32, x T, cases ...T) T {
	for i, y := range cases {
		TraceText(id+uint32(i), TraceEq, x, y)
	}
	return x
}

// TraceIndex notes an index into a table of n elements, 0 if unknown: each
// place of a small table, magnitudes and the last place of a large one.
func TraceIndex[T integer](id uint32, n int, i T) T {
	if s := siteOf(id); s != nil {
		k := uint64(i)
		s.count[0]++
		if n > 0 && n <= 256 {
			s.markMet(&s.places[k>>6&3], int(k&63))
		} else {
			s.markMet(&s.near, bits.Len64(k))
			if n > 0 {
				s.nearEnd(id, k, uint64(n))
			}
		}
	}
	return i
}

func (s *traceSite) nearEnd(id uint32, k, n uint64) {
	s.markMet(&s.alike, bits.Len64(n-1-k))
	if trace.logging && k != n-1 {
		s.pair(id, pairInt, k, n-1)
	}
}

// TraceNarrow notes a number that a conversion may cut off above limit.
func TraceNarrow[T integer](id uint32, limit uint64, x T) T {
	comparedInts(id, uint64(x), limit, uint64(x) <= limit)
	return x
}

// TraceS1 calls a function of two strings, such as strings.HasPrefix.
func TraceS1[R any](id uint32, f func(x, y string) R, x, y string) R {
	tracedTexts(id, x, y)
	return f(x, y)
}

// TraceS2 does what TraceS1 does for two results.
func TraceS2[R, S any](id uint32, f func(x, y string) (R, S), x, y string) (R, S) {
	tracedTexts(id, x, y)
	return f(x, y)
}

// TraceS3 does what TraceS1 does for three results.
func TraceS3[R, S, T any](id uint32, f func(x, y string) (R, S, T), x, y string) (R, S, T) {
	tracedTexts(id, x, y)
	return f(x, y)
}

// TraceB1 calls a function of two byte slices, such as bytes.Equal.
func TraceB1[R any](id uint32, f func(x, y []byte) R, x, y []byte) R {
	tracedTexts(id, x, y)
	return f(x, y)
}

// TraceB2 does what TraceB1 does for two results.
func TraceB2[R, S any](id uint32, f func(x, y []byte) (R, S), x, y []byte) (R, S) {
	tracedTexts(id, x, y)
	return f(x, y)
}

// TraceB3 does what TraceB1 does for three results.
func TraceB3[R, S, T any](id uint32, f func(x, y []byte) (R, S, T), x, y []byte) (R, S, T) {
	tracedTexts(id, x, y)
	return f(x, y)
}

func tracedTexts[T ~string | ~[]byte](id uint32, x, y T) {
	if s := siteOf(id); s != nil {
		s.count[0]++
		comparedTexts(s, id, x, y)
	}
}
