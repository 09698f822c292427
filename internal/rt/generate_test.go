package rt

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestWordsCoverShortStrings(t *testing.T) {
	type args struct{ A0 string }
	alpha := DefaultAlphabet()
	alpha.Bytes = append([]byte("key:xw"), alpha.Bytes...)
	alpha.Texts = append([]string{"key:"}, alpha.Texts...)
	w := NewWords[args](alpha, 1_000_000, nil)
	if w.Len() > 1_000_000 || w.Len() < 500_000 {
		t.Fatalf("%d inputs", w.Len())
	}
	seen := map[string]bool{}
	var a args
	for i := range w.Len() {
		w.At(i, &a)
		seen[a.A0] = true
	}
	for b := range 256 * 256 {
		if s := string([]byte{byte(b >> 8), byte(b)}); !seen[s] || !seen[s[:1]] {
			t.Fatalf("%q is missing", s)
		}
	}
	for _, s := range []string{"", "key:", "key:a", "xyw", "axa", strings.Repeat("k", 31) + "x",
		"x" + strings.Repeat("e", 64), "éé"} {
		if !seen[s] {
			t.Errorf("%q is missing", s)
		}
	}
}

func TestWordsOfManyTypes(t *testing.T) {
	type args struct {
		A0 []int
		A1 *point
		A2 map[string]bool
		A3 bool
		A4 any
		A5 *treeNode
		A6 [2]int8
		A7 io.Reader
		A8 error
	}
	for _, limit := range []int{1, 10, 1000, 100_000} {
		w := NewWords[args](DefaultAlphabet(), limit, nil)
		if w.Len() > limit || w.Len() < 1 || limit >= 1000 && w.Len() < limit/20 {
			t.Errorf("limit %d: %d inputs", limit, w.Len())
		}
		distinct := map[string]bool{}
		for i := range w.Len() {
			var a args
			w.At(i, &a)
			b, err := Encode(&a)
			if err != nil {
				t.Fatal(err)
			}
			distinct[string(b)] = true
		}
		if len(distinct) < w.Len()*3/4 {
			t.Errorf("limit %d: %d of %d inputs are distinct", limit, len(distinct), w.Len())
		}
	}
}

func TestWordsOfSlices(t *testing.T) {
	type args struct{ A0, A1 []string }
	w := NewWords[args](DefaultAlphabet(), 50_000, nil)
	var sawNil, sawEmpty, sawRoom, sawTight, sawLong, unsorted bool
	for i := range w.Len() {
		var a args
		w.At(i, &a)
		s := a.A0
		sawNil = sawNil || s == nil
		sawEmpty = sawEmpty || s != nil && len(s) == 0
		sawRoom = sawRoom || cap(s) > len(s)
		sawTight = sawTight || len(s) > 0 && cap(s) == len(s)
		sawLong = sawLong || len(s) >= 17
		unsorted = unsorted || !slices.IsSorted(s)
	}
	if !sawNil || !sawEmpty || !sawRoom || !sawTight || !sawLong || !unsorted {
		t.Error(sawNil, sawEmpty, sawRoom, sawTight, sawLong, unsorted)
	}
}

func TestSmallIntegersAreExhausted(t *testing.T) {
	type args struct {
		A0 uint8
		A1 int8
	}
	w := NewWords[args](DefaultAlphabet(), 1<<16, nil)
	if w.Len() != 1<<16 {
		t.Errorf("%d of 65536", w.Len())
	}
}

func BenchmarkWords(b *testing.B) {
	type args struct{ A0 string }
	w := NewWords[args](DefaultAlphabet(), 1_000_000, nil)
	var a args
	i := 0
	for b.Loop() {
		w.At(i%w.Len(), &a)
		i++
	}
}

func ExampleNewWords() {
	type args struct{ A0 bool }
	w := NewWords[args](DefaultAlphabet(), 100, nil)
	for i := range w.Len() {
		var a args
		w.At(i, &a)
		fmt.Println(a.A0)
	}
	// Output:
	// false
	// true
}
