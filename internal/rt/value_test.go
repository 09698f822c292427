package rt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type point struct{ x, y int }

type treeNode struct {
	name string
	next *treeNode
	kids []*treeNode
}

type everything struct {
	b    bool
	i8   int8
	u64  uint64
	f32  float32
	c    complex128
	s    string
	bs   []byte
	strs []string
	arr  [3]point
	m    map[string][]int
	mi   map[int8]bool
	p    *point
	any  any
	err  error
	r    io.Reader
	mu   sync.Mutex
	n    atomic.Int64
	ap   atomic.Pointer[point]
	t    time.Time
	ip   netip.Addr
	Fn   func()
	Ch   chan int
	_    int
	nest map[point]map[string]*treeNode
}

// roundTrip checks that a record reads back to the same snapshot and writes
// back to the same bytes, with types and without.
func roundTrip[A any](t *testing.T, a *A) *A {
	t.Helper()
	b, err := Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	got := new(A)
	if err := Decode(b, got, map[string]reflect.Type{
		"github.com/beagle-go/beagle/internal/rt.point": reflect.TypeOf(point{}),
	}); err != nil {
		t.Fatal(err)
	}
	again, err := Encode(got)
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("written %x, read and written %x (%v)", b, again, err)
	}
	v, err := ParseValue(b)
	if err != nil {
		t.Fatal(err)
	}
	if w := v.Append(nil); !bytes.Equal(b, w) {
		t.Fatalf("as a tree %x, wanted %x", w, b)
	}
	sameSnapshot(t, a, got)
	sameSnapshot(t, a, Clone(a))
	return got
}

func sameSnapshot[A any](t *testing.T, a, b *A) {
	t.Helper()
	if x, y := snapshot(t, a), snapshot(t, b); !bytes.Equal(x, y) {
		t.Fatalf("snapshots differ:\n%x\n%x", x, y)
	}
}

func snapshot(t *testing.T, parts ...any) []byte {
	t.Helper()
	b, err := Snapshot(nil, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTripEverything(t *testing.T) {
	e := &everything{
		b: true, i8: -128, u64: math.MaxUint64, f32: math.Float32frombits(0x7fa00001),
		c: complex(math.Inf(-1), math.Copysign(0, -1)), s: "\x00\xffé",
		bs: append(make([]byte, 0, 9), "abc"...), strs: []string{"", "x"}, arr: [3]point{{1, 2}},
		m:  map[string][]int{"b": nil, "a": {1}, "c": {}},
		mi: map[int8]bool{3: true, -4: false}, p: &point{3, 4}, any: point{5, 6},
		err: fmt.Errorf("wrapped: %w", io.EOF), r: strings.NewReader("text"),
		t: time.Now(), ip: netip.MustParseAddr("fe80::1%eth0"), nest: map[point]map[string]*treeNode{
			{1, 1}: {"k": {name: "n"}},
		},
	}
	e.n.Store(77)
	e.ap.Store(&point{8, 9})
	e.mu.Lock()
	got := roundTrip(t, e)
	if math.Float32bits(got.f32) != 0x7fa00001 {
		t.Errorf("a NaN changed to %x", math.Float32bits(got.f32))
	}
	if !got.mu.TryLock() {
		t.Error("the lock was copied locked")
	}
	if !errors.Is(got.err, io.EOF) || got.err.Error() != "wrapped: EOF" {
		t.Errorf("error became %v", got.err)
	}
	if text, _ := io.ReadAll(got.r); string(text) != "text" {
		t.Errorf("reader holds %q", text)
	}
	if cap(got.bs) != 9 || got.m["c"] == nil || got.m["b"] != nil || got.ip != e.ip || !got.t.Equal(e.t) ||
		*got.ap.Load() != (point{8, 9}) {
		t.Errorf("got %+v", got.m)
	}
	roundTrip(t, &everything{})
}

func TestRoundTripSharing(t *testing.T) {
	type args struct {
		p, q *point
		x    *int
		s, t []int
		all  []int
		n    *treeNode
		m, k map[string]int
		ps   []point
		py   *int
		i    any
	}
	buf := []int{1, 2, 3, 4, 5, 6}
	pt := &point{1, 2}
	loop := &treeNode{name: "loop"}
	loop.next, loop.kids = loop, []*treeNode{loop, {name: "kid"}}
	m := map[string]int{"a": 1}
	ps := []point{{1, 2}, {3, 4}}
	a := &args{p: pt, q: pt, x: &pt.y, s: buf[:2], t: buf[1:3:4], all: buf[4:], n: loop, m: m, k: m, ps: ps,
		py: &ps[1].y, i: pt}
	for _, got := range []*args{roundTrip(t, a), Clone(a)} {
		*got.x = 50
		if got.p != got.q || got.p.y != 50 || got.i != any(got.p) {
			t.Error("pointers to one variable were separated")
		}
		got.s[1] = 60
		if got.t[0] != 60 || cap(got.t) != 3 || cap(got.s) != 6 || &got.s[:6][4] != &got.all[0] {
			t.Errorf("slices of one array were separated: %v %v", got.s, got.t)
		}
		if got.n.next != got.n || got.n.kids[0] != got.n {
			t.Error("a cycle was cut")
		}
		got.m["b"] = 2
		*got.py = 70
		if got.k["b"] != 2 || got.ps[1].y != 70 {
			t.Error("a map or an element was separated")
		}
	}
	if pt.y != 2 || buf[1] != 2 || len(m) != 1 {
		t.Error("the copies share memory with the original")
	}
}

// TestForwardReference reads a pointer into memory that is described only later.
func TestForwardReference(t *testing.T) {
	type args struct {
		y    *int
		any  any
		m    map[string]*int
		arr  *[4]int
		part []int
		p    *point
	}
	p, arr := &point{1, 2}, &[4]int{1, 2, 3, 4}
	got := roundTrip(t, &args{y: &p.y, any: &p.y, m: map[string]*int{"y": &p.x}, part: arr[1:3], arr: arr, p: p})
	if got.y != &got.p.y || got.any != any(got.y) || got.m["y"] != &got.p.x || &got.part[0] != &got.arr[1] ||
		cap(got.part) != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestSnapshotTellsAliasing(t *testing.T) {
	type args struct{ a []int }
	type res struct{ r []int }
	distinct := map[string][]byte{}
	add := func(name string, f func(a []int) []int) {
		a := args{append(make([]int, 0, 8), 1, 2, 3)}
		r := res{f(a.a)}
		b := snapshot(t, &a, &r)
		for other, o := range distinct {
			if bytes.Equal(o, b) {
				t.Errorf("%s and %s look the same", name, other)
			}
		}
		distinct[name] = b
	}
	add("same slice", func(a []int) []int { return a })
	add("copy", func(a []int) []int { return append([]int(nil), a...) })
	add("in place append", func(a []int) []int { return append(a, 4) })
	add("copying append", func(a []int) []int { return append(a[:3:3], 4) })
	add("tail", func(a []int) []int { return a[1:] })
	add("copied tail", func(a []int) []int { return []int{2, 3} })
	add("nil", func(a []int) []int { return nil })
	add("empty", func(a []int) []int { return []int{} })
	add("empty alias", func(a []int) []int { return a[:0] })
	one, two := res{append(make([]int, 0, 100), 1)}, res{[]int{1}}
	if !bytes.Equal(snapshot(t, &one), snapshot(t, &two)) {
		t.Error("the capacity of a fresh result matters")
	}
}

func TestSnapshotErrorsAndFloats(t *testing.T) {
	type res struct {
		f   float64
		err error
	}
	same := func(a, b res) bool { return bytes.Equal(snapshot(t, &a), snapshot(t, &b)) }
	for _, c := range []struct {
		a, b res
		want bool
	}{
		{res{err: errors.New("x")}, res{err: errors.New("x")}, true},
		{res{err: errors.New("EOF")}, res{err: io.EOF}, false},
		{res{err: fmt.Errorf("a: %w", io.EOF)}, res{err: fmt.Errorf("a: %v", io.EOF)}, false},
		{res{err: fmt.Errorf("a: %w", io.EOF)}, res{err: fmt.Errorf("a: %w", io.EOF)}, true},
		{res{f: 0}, res{f: math.Copysign(0, -1)}, false},
		{res{f: math.NaN()}, res{f: math.NaN()}, true},
		{res{f: math.NaN()}, res{f: math.Float64frombits(0x7ff8000000000002)}, false},
	} {
		if same(c.a, c.b) != c.want {
			t.Errorf("%v and %v: wanted same = %v", c.a, c.b, c.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	type inner struct{ f func() }
	type args struct {
		list []inner
	}
	_, err := Encode(&args{list: []inner{{}, {func() {}}}})
	if err == nil || !strings.Contains(err.Error(), "list[1].f cannot be recorded: a func value") {
		t.Errorf("got %v", err)
	}
	big := struct{ S []string }{[]string{strings.Repeat("x", 600), strings.Repeat("x", 600)}}
	if _, err := appendEncode(nil, &big, Limit{Bytes: 1000, Depth: 10}); err == nil ||
		!strings.Contains(err.Error(), "larger than 1000 bytes") {
		t.Errorf("got %v", err)
	}
	var deep *treeNode
	for i := 0; i < 50000; i++ {
		deep = &treeNode{next: deep}
	}
	if _, err := Encode(&struct{ N *treeNode }{deep}); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("got %v", err)
	}
}

func TestMapOrder(t *testing.T) {
	type args struct {
		m map[any]int
		f map[float64]string
	}
	a := func() *args {
		return &args{map[any]int{"a": 1, 2: 2, point{1, 2}: 3, nil: 4, 2.5: 5}, map[float64]string{
			math.NaN(): "x",
			1:          "y",
		}}
	}
	x := a()
	x.f[math.NaN()] = "w"
	y := a()
	y.f[math.NaN()] = "w"
	for range 20 {
		sameSnapshot(t, x, y)
	}
}

func TestDecodeFitsFields(t *testing.T) {
	type old struct {
		B string
		A int
	}
	type now struct {
		A int
		C []byte
		B string
	}
	b, _ := Encode(&struct{ X []old }{[]old{{"b", 1}, {"c", 2}}})
	var got struct{ X []now }
	if err := Decode(b, &got, nil); err != nil || got.X[1].A != 2 || got.X[1].B != "c" {
		t.Errorf("got %+v, %v", got, err)
	}
	var bad struct{ X []struct{ B, A string } }
	if err := Decode(b, &bad, nil); err == nil ||
		!strings.Contains(err.Error(), "X[0].A: a string cannot be read from a int") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseValue(f *testing.F) {
	loop := &treeNode{name: "n"}
	loop.next = loop
	for _, v := range []any{&everything{}, &struct{ N, M *treeNode }{loop, loop},
		&struct{ A []point }{[]point{{1, 2}, {3, 4}}}} {
		b, _ := EncodeValue(v)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseValue(b)
		if err == nil {
			w := v.Append(nil)
			again, err := ParseValue(w)
			if err != nil || !bytes.Equal(again.Append(nil), w) {
				t.Fatalf("%x was written as %x, which reads differently: %v", b, w, err)
			}
		}
		for _, target := range []any{new(everything), new(struct{ N, M *treeNode }), new(struct{ A []point })} {
			if DecodeValue(b, target, nil) == nil {
				if _, err := EncodeValue(target); err != nil {
					t.Fatalf("%x was read but cannot be written: %v", b, err)
				}
				Snapshot(nil, target)
			}
		}
	})
}

type smallArgs struct {
	A0 string
	A1 []string
	A2 int
}

func BenchmarkEncode(b *testing.B) {
	a := &smallArgs{"some.tag:value", []string{"one", "two", "three"}, 42}
	var buf []byte
	for b.Loop() {
		buf, _ = appendEncode(buf[:0], a, DefaultLimit)
	}
}

func BenchmarkDecode(b *testing.B) {
	rec, _ := Encode(&smallArgs{"some.tag:value", []string{"one", "two", "three"}, 42})
	for b.Loop() {
		var a smallArgs
		if err := Decode(rec, &a, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	type args struct{ a, b []string }
	type res struct{ r []string }
	a := &args{[]string{"one", "two"}, []string{"three"}}
	r := &res{[]string{"one", "two", "three"}}
	var buf []byte
	for b.Loop() {
		buf, _ = SnapshotCall(buf[:0], a, r)
	}
}

func BenchmarkClone(b *testing.B) {
	a := &smallArgs{"some.tag:value", []string{"one", "two", "three"}, 42}
	for b.Loop() {
		Clone(a)
	}
}
