package mutate

import (
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/effects"
)

// TestPureStd compares the functions that are said to write nothing with what the judge's table
// derives from the standard library's source.
func TestPureStd(t *testing.T) {
	compared := 0
	for name := range pureStd {
		pkg := name[:strings.LastIndexByte(name, '/')+1]
		first, _, _ := strings.Cut(name[len(pkg):], ".")
		pkg += first
		if !slices.Contains(effects.Packages, pkg) || strings.HasSuffix(name, ".*") {
			continue // the table has no line of its own
		}
		if name == "hash/crc32.ChecksumIEEE" {
			continue // it calls the update function that it has chosen for the processor
		}
		s := effects.Standard().SummaryOf(name)
		if s == nil {
			t.Errorf("%s: the table does not know it", name)
			continue
		}
		compared++
		if len(s.Writes)+len(s.Stores)+len(s.Runs) > 0 {
			t.Errorf("%s: the table says that it writes, keeps or runs something", name)
		}
	}
	if compared < 100 {
		t.Errorf("only %d functions were compared", compared)
	}
}

// TestPureMethods checks that calls of well-known methods count as reads at most, and that those of
// other methods do not.
func TestPureMethods(t *testing.T) {
	p := pass(t, `package p

import (
	"math/big"
	"net/url"
	"reflect"
	"time"
)

func year(t time.Time) int { return t.Year() }
func kind(t reflect.Type) bool { return t.Kind() == reflect.Slice }
func compare(a, b *big.Int) int { return a.Cmp(b) }
func text(u *url.URL) string { return u.String() }
func set(v url.Values) { v.Set("a", "b") }
func elem(v reflect.Value) reflect.Value { return v.Elem() }
func stringer(x interface{ String() string }) string { return x.String() }
`)
	for name, want := range map[string]Effects{
		"year":    {},
		"kind":    {Panics: true},
		"compare": {Reads: true, Panics: true},
		"text":    {Reads: true, Panics: true, Allocs: true},
	} {
		want.Jumps = true
		if got := p.Effects(fn(p, name).Body); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"set", "elem", "stringer"} {
		if !p.Effects(fn(p, name).Body).Writes {
			t.Errorf("%s writes nothing", name)
		}
	}
}
