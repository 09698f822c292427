package corpus

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

type sampleArgs struct {
	A0 string
	A1 []string
	A2 int
	A3 *int
	A4 []byte
}

func record(t testing.TB, v any, weight float64) beagle.Record {
	t.Helper()
	b, err := rt.EncodeValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return beagle.Record{Args: b, Weight: weight}
}

func TestParamFacets(t *testing.T) {
	one := 1
	buf := []byte("shared")
	records := []beagle.Record{
		record(t, &sampleArgs{"abc", []string{"a", "b"}, 5, &one, buf}, 6),
		record(t, &sampleArgs{"é", []string{"b", "a"}, -3, nil, nil}, 2),
		record(t, &sampleArgs{"", nil, 9, nil, []byte{}}, 1),
		record(t, &sampleArgs{"abc", []string{"x", "x"}, 5, nil, nil}, 1),
	}
	p, err := paramFacets(records, rt.ShapeOf(reflect.TypeFor[sampleArgs](), ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := p[0]
	if s.Distinct != 3 || s.Empty != 0.1 || s.ASCII != 0.8 || s.Len != [5]int{0, 3, 3, 3, 3} ||
		s.Top[0] != (beagle.TopValue{Value: `"abc"`, Share: 0.7}) {
		t.Errorf("string: %+v", s)
	}
	sum := 0.0
	for _, x := range s.Bytes {
		sum += x
	}
	if len(s.Bytes) != 256 || math.Abs(sum-1) > 1e-9 || s.Bytes['a'] != 7.0/25 || s.Bytes[0xc3] != 2.0/25 {
		t.Errorf("bytes: %v", s.Bytes)
	}
	l := p[1]
	if l.Nil != 0.1 || math.Abs(l.Sorted-7.0/9) > 1e-9 || math.Abs(l.Unique-8.0/9) > 1e-9 || l.Len[1] != 2 {
		t.Errorf("slice: %+v", l)
	}
	if n := p[2]; n.Min != -3 || n.Max != 9 || n.Top[0].Value != "5" {
		t.Errorf("number: %+v", n)
	}
	if q := p[3]; q.Nil != 0.4 || q.Min != 1 || q.Max != 1 {
		t.Errorf("pointer: %+v", q)
	}
	if b := p[4]; math.Abs(b.Nil-0.3) > 1e-9 || b.Empty != 0.1 || b.Len[4] != 6 {
		t.Errorf("bytes: %+v", b)
	}
}

// TestFacetsOfSharedMemory checks that slices of one array have their elements elsewhere in the
// record.
func TestFacetsOfSharedMemory(t *testing.T) {
	type args struct{ A0, A1 []int }
	buf := []int{1, 2, 9, 4, 5}
	p, err := paramFacets([]beagle.Record{record(t, &args{buf[:2], buf[1:4]}, 1)},
		rt.ShapeOf(reflect.TypeFor[args](), ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p[0].Len[0] != 2 || p[0].Sorted != 1 || p[1].Len[0] != 3 || p[1].Sorted != 0 {
		t.Errorf("got %+v", p)
	}
}

func TestSplit(t *testing.T) {
	var records []beagle.Record
	for i := range 1000 {
		records = append(records, record(t, &struct{ A0 int }{i}, 1))
	}
	train, holdout := Split(records)
	if len(train)+len(holdout) != 1000 || len(holdout) < 130 || len(holdout) > 260 {
		t.Errorf("%d and %d", len(train), len(holdout))
	}
	again, _ := Split(records[:500])
	for _, r := range again {
		if slices.ContainsFunc(holdout, func(h beagle.Record) bool { return h.ID() == r.ID() }) {
			t.Fatal("a record changes sides when others are missing")
		}
	}
	for n := 10; n < 40; n++ {
		for at := 0; at+n <= len(records); at += n {
			if train, holdout := Split(records[at : at+n]); len(train) == 0 || len(holdout) == 0 {
				t.Fatalf("%d records: %d and %d", n, len(train), len(holdout))
			}
		}
	}
	if _, holdout := Split(records[:9]); len(holdout) != 0 {
		t.Error("nine records are too few to set some aside")
	}
}

func TestFreshLooksLikeTheCorpus(t *testing.T) {
	c := &beagle.Corpus{}
	for i := range 500 {
		tags := []string{fmt.Sprintf("env:%c%c", 'a'+i%26, 'a'+i/26), fmt.Sprintf("host:%04d", i), "zone:x"}
		c.Train = append(c.Train,
			record(t, &sampleArgs{A0: fmt.Sprintf("key_%d:Value-é%d", i, i*7), A1: tags, A2: i}, 1))
	}
	list := Fresh(c, 300, 7)
	if len(list) != 300 {
		t.Fatalf("%d inputs", len(list))
	}
	same := Fresh(c, 300, 7)
	distinct := map[string]bool{}
	for i, r := range list {
		if !bytes.Equal(r.Args, same[i].Args) {
			t.Fatal("the same seed gave other inputs")
		}
		var a sampleArgs
		if err := rt.Decode(r.Args, &a, nil); err != nil {
			t.Fatal(err)
		}
		distinct[a.A0] = true
		if !slices.IsSorted(a.A1) || a.A2 < 0 || a.A2 >= 500 || strings.Count(a.A0, "é") > 2 ||
			!strings.Contains(a.A0, "é") || strings.ContainsAny(a.A0, "!\x00") {
			t.Errorf("%+v is not like the corpus", a)
		}
	}
	for _, r := range c.Train {
		if slices.ContainsFunc(list, func(f beagle.Record) bool { return bytes.Equal(f.Args, r.Args) }) {
			t.Fatal("a record of the corpus is not fresh")
		}
	}
	if other := Fresh(c, 300, 8); bytes.Equal(other[0].Args, list[0].Args) {
		t.Error("another seed gave the same inputs")
	}
	if len(distinct) < 250 {
		t.Errorf("%d distinct texts", len(distinct))
	}
}

func TestScratchFitsTheTypes(t *testing.T) {
	type all struct {
		A0 string
		A1 []int8
		A2 map[string]uint16
		A3 *all
		A4 any
		A5 error
		A6 [3]float32
		A7 uint64
		A8 complex64
		A9 []byte
	}
	records := scratchValues(rt.ShapeOf(reflect.TypeFor[all](), ""), nil, 500, 1)
	if len(records) < 450 {
		t.Errorf("%d distinct", len(records))
	}
	sortedLists := 0
	for _, r := range records {
		var a all
		if err := rt.Decode(r.Args, &a, nil); err != nil {
			t.Fatal(err)
		}
		if len(a.A1) > 3 && slices.IsSorted(a.A1) {
			sortedLists++
		}
	}
	if sortedLists < 50 {
		t.Errorf("%d sorted lists", sortedLists)
	}
}
