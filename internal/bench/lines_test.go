package bench

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/google/pprof/profile"
)

func TestBase(t *testing.T) {
	for _, c := range []struct {
		in, name string
		variant  int
	}{
		{"pkg.Normalize__b3", "pkg.Normalize", 3},
		{"pkg.(*T).Merge__b12.func1", "pkg.(*T).Merge.func1", 12},
		{"pkg.Map__b0[go.shape.int]", "pkg.Map[go.shape.int]", 0},
		{"runtime.mallocgc", "runtime.mallocgc", -1},
		{"pkg.my__broken", "pkg.my__broken", -1},
	} {
		if name, v := base(c.in); name != c.name || v != c.variant {
			t.Errorf("base(%q) = %q, %d", c.in, name, v)
		}
	}
}

// A testProfile is built sample by sample; frames from the leaf, each a name
// and a line.
type testProfile struct{ p *profile.Profile }

func newTestProfile() *testProfile {
	kind := &profile.ValueType{Type: "samples", Unit: "count"}
	return &testProfile{&profile.Profile{SampleType: []*profile.ValueType{kind}, PeriodType: kind, Period: 1}}
}

func (b *testProfile) sample(value int64, frames ...any) {
	s := &profile.Sample{Value: []int64{value}}
	for i := 0; i < len(frames); i += 2 {
		f := b.function(frames[i].(string))
		loc := &profile.Location{
			ID:   uint64(len(b.p.Location) + 1),
			Line: []profile.Line{{Function: f, Line: int64(frames[i+1].(int))}},
		}
		b.p.Location = append(b.p.Location, loc)
		s.Location = append(s.Location, loc)
	}
	b.p.Sample = append(b.p.Sample, s)
}

func (b *testProfile) function(name string) *profile.Function {
	for _, f := range b.p.Function {
		if f.Name == name {
			return f
		}
	}
	f := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, StartLine: 10}
	b.p.Function = append(b.p.Function, f)
	return f
}

func (b *testProfile) bytes(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := b.p.Write(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestReadProfile(t *testing.T) {
	b := newTestProfile()
	b.sample(30, "m/p.F__b0", 12, "m/p.beagleOne__b0", 1)
	b.sample(20, "runtime.memmove", 5, "m/p.F__b0", 13, "m/p.beagleOne__b0", 1)
	b.sample(50, "m/p.help__b0", 20, "m/p.F__b0", 14)
	b.sample(99, "m/p.beagleOne__b0", 1)
	b.sample(99, "m/p.F__b1", 12)
	p, err := readProfile(b.bytes(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	got, samples := p.Lines, p.Samples
	want := map[int]float64{12: 0.3, 13: 0.2, 20: 0.5}
	for l, w := range want {
		if math.Abs(got[l]-w) > 1e-9 {
			t.Errorf("line %d: %v, want %v", l, got[l], w)
		}
	}
	if len(got) != len(want) || samples != 100 {
		t.Errorf("%v of %d samples", got, samples)
	}
	if other, err := readProfile(b.bytes(t), 1); err != nil || len(other.Lines) != 1 || other.Lines[12] != 1 {
		t.Errorf("of version 1: %v, %v", other, err)
	}
}

// TestCallees checks that functions that a version calls get the time that passes below their
// lines, with their literals, and that the standard library does not. Functions of the test profile
// start in line 10, their literals too.
func TestCallees(t *testing.T) {
	b := newTestProfile()
	b.sample(40, "runtime.memmove", 5, "a.com/m/p.(*T).Fill", 13, "a.com/m/p.F__b0", 14)
	b.sample(20, "a.com/m/p.(*T).Fill", 15, "a.com/m/p.(*T).Fill", 13, "a.com/m/p.F__b0", 14)
	b.sample(10, "a.com/m/p.T.Sum.func1", 15, "a.com/m/p.T.Sum", 12, "a.com/m/p.F__b0", 15)
	b.sample(20, "a.com/m/q.G[...]", 12, "a.com/m/p.F__b0", 15)
	b.sample(10, "a.com/m/q.G[int]-range1", 13, "slices.Values", 11, "a.com/m/q.G[int]", 12, "a.com/m/p.F__b0", 15)
	b.sample(99, "a.com/m/p.(*T).Fill", 13, "a.com/m/p.Test", 15)
	p, err := ReadProfile(b.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	want := Callees{"T.Fill": {3: 0.6, 5: 0.2}, "T.Sum": {2: 0.1, 5: 0.1}, "a.com/m/q.G": {2: 0.3, 3: 0.1}}
	if !reflect.DeepEqual(p.Callees, want) {
		t.Errorf("%v, want %v", p.Callees, want)
	}
}

func TestSplitSymbol(t *testing.T) {
	for symbol, want := range map[string]string{
		"a.com/b.F": "F", "a.com/b.T.F": "T.F", "a.com/b.(*T).F": "T.F", "b.F": "F", "a.com/b.F.func1": "inner F",
		"a.com/b.(*T).F.func2": "inner T.F", "a.com/b.F[...]": "F", "a.com/b.T.F-fm": "T.F-fm", "a.com/b.init": "init",
		"a.com/b.(*T[...]).F": "T.F", "b.F[go.shape.[]a.com/c.T]": "F", "b.F-range1": "inner F",
		"b.(*T).F-range2": "inner T.F", "b.F.func1-range1": "inner F", "b.F.gowrap1": "inner F", "b.glob..func1": "inner ",
		"b.T.F.func1.2": "inner T.F",
	} {
		_, got, inner := splitSymbol(symbol)
		if inner {
			got = "inner " + got
		}
		if got != want {
			t.Errorf("%s is %q, want %q", symbol, got, want)
		}
	}
}
