package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

// TestFreshKeepsRelations checks that what holds between the arguments of all recorded calls holds
// between those of the drawn ones, and each draw is new.
func TestFreshKeepsRelations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, 4+rng.IntN(20))
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	type buffers struct{ A0, A1 []byte }
	type index struct {
		A0 string
		A1 int
	}
	type bounds struct{ A0, A1 int }
	type twice struct{ A0, A1 string }
	type member struct {
		A0 []string
		A1 string
	}
	for _, c := range []struct {
		name  string
		draw  func() any
		into  func() any
		holds func(v any) bool
	}{
		{"a buffer as long as the text", func() any {
			s := word()
			return &buffers{make([]byte, len(s)), []byte(s)}
		}, func() any { return new(buffers) }, func(v any) bool {
			return len(v.(*buffers).A0) == len(v.(*buffers).A1)
		}},
		{"an index below the length", func() any {
			s := word()
			return &index{s, rng.IntN(len(s))}
		}, func() any { return new(index) }, func(v any) bool {
			return v.(*index).A1 >= 0 && v.(*index).A1 < len(v.(*index).A0)
		}},
		{"one number above the other", func() any {
			n := rng.IntN(1000)
			return &bounds{n, n + 1 + rng.IntN(5)}
		}, func() any { return new(bounds) }, func(v any) bool { return v.(*bounds).A0 < v.(*bounds).A1 }},
		{"the same text twice, or its beginning", func() any {
			s := word()
			return &twice{s, s[:1+rng.IntN(len(s))]}
		}, func() any { return new(twice) }, func(v any) bool {
			return strings.HasPrefix(v.(*twice).A0, v.(*twice).A1)
		}},
		{"a key of the list", func() any {
			list := []string{word(), word(), word()}
			return &member{list, list[rng.IntN(3)]}
		}, func() any { return new(member) }, func(v any) bool {
			return slices.Contains(v.(*member).A0, v.(*member).A1)
		}},
	} {
		corpus := &beagle.Corpus{}
		for range 200 {
			corpus.Train = append(corpus.Train, record(t, c.draw(), 1))
		}
		list := Fresh(corpus, 300, 5)
		if len(list) < 250 {
			t.Errorf("%s: %d inputs", c.name, len(list))
		}
		for _, r := range list {
			v := c.into()
			if err := rt.DecodeValue(r.Args, v, nil); err != nil {
				t.Fatal(err)
			}
			if !c.holds(v) {
				t.Errorf("%s: drew %+v", c.name, v)
				break
			}
		}
	}
}

// TestFreshInventsNoRelations checks that without a relation in the records, none is made up.
func TestFreshInventsNoRelations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type pair struct{ A0, A1 int }
	corpus := &beagle.Corpus{}
	for range 300 {
		corpus.Train = append(corpus.Train, record(t, &pair{rng.IntN(1000), rng.IntN(1000)}, 1))
	}
	less := 0
	list := Fresh(corpus, 300, 5)
	for _, r := range list {
		var v pair
		if err := rt.DecodeValue(r.Args, &v, nil); err != nil {
			t.Fatal(err)
		}
		if v.A0 < v.A1 {
			less++
		}
	}
	if less < len(list)/4 || less > len(list)*3/4 {
		t.Errorf("the first number is the smaller one in %d of %d", less, len(list))
	}
}

func TestChooseKeepsShares(t *testing.T) {
	var records []beagle.Record
	var classes []string
	for i := range 1000 { // as drawn: seven of ten are errors
		records = append(records, beagle.Record{Args: []byte(fmt.Sprint(i)), Weight: 1})
		classes = append(classes, map[bool]string{true: "0e", false: "+0"}[i%10 < 7])
	}
	count := func(kept []beagle.Record) (errors int) {
		for _, r := range kept {
			var i int
			fmt.Sscan(string(r.Args), &i)
			if i%10 < 7 {
				errors++
			}
		}
		return errors
	}
	kept, told := choose(records, classes, map[string]float64{"0e": 0.07, "+0": 0.93}, 1000)
	if n := count(kept); told != "" || len(kept) < 300 || float64(n) > 0.08*float64(len(kept)) ||
		float64(n) < 0.06*float64(len(kept)) {
		t.Errorf("%d kept, %d of them errors; %q", len(kept), n, told)
	}
	if _, told := choose(records, classes, map[string]float64{"++": 0.5, "+0": 0.5}, 1000); !strings.Contains(told,
		"not zero") {
		t.Errorf("a class that nothing was drawn of: %q", told)
	}
}

// TestAlike draws inputs of a parser of addresses. Most inputs drawn letter by letter are errors.
// Inputs drawn alike have the recorded share of errors.
func TestAlike(t *testing.T) {
	dir := module(t, `
-- go.mod --
module example.com/addr

go 1.24
-- addr.go --
package addr

import "errors"

var errOctet = errors.New("bad octet")

// Octets adds up the parts of an address.
func Octets(s string) (int, error) {
	sum, n, parts := 0, 0, 1
	for i := 0; i < len(s); i++ {
		if s[i] == '.' {
			sum, n, parts = sum+n, 0, parts+1
			continue
		}
		if n = 10*n + int(s[i]-'0'); n > 255 || s[i] < '0' || s[i] > '9' {
			return 0, errOctet
		}
	}
	if parts != 4 {
		return 0, errOctet
	}
	return sum + n, nil
}
`)
	u := load(t, dir, "Octets")
	var lines strings.Builder
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		fmt.Fprintf(&lines, "{\"args\":[\"%d.%d.%d.%d\"]}\n", 200+rng.IntN(56)+i%13/12*100, rng.IntN(256),
			rng.IntN(256), rng.IntN(256))
	}
	sandboxed := box(t)
	b, err := harness.NewBuilder(t.Context(), u, sandboxed, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made, err := Build(t.Context(), u, b, sandboxed, Input{Records: fromJSON(t, u, lines.String()), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	fresh, told, err := Alike(t.Context(), u, b, sandboxed, made.Corpus, 500, 3)
	if err != nil || told != "" {
		t.Fatal(told, err)
	}
	wrong := func(list []beagle.Record) (n float64) {
		for _, r := range list {
			var a struct{ A0 string }
			if err := rt.DecodeValue(r.Args, &a, nil); err != nil {
				t.Fatal(err)
			}
			for _, part := range strings.Split(a.A0, ".") {
				if v := 0; len(part) > 0 {
					if fmt.Sscan(part, &v); v > 255 {
						n++
						break
					}
				}
			}
		}
		return n / float64(len(list))
	}
	recorded, drawn, alike := wrong(made.Corpus.Train), wrong(Fresh(made.Corpus, 500, 3)), wrong(fresh)
	t.Logf("errors: %.2f recorded, %.2f drawn letter by letter, %.2f drawn alike, of %d", recorded, drawn,
		alike, len(fresh))
	if len(fresh) < 64 || alike > recorded+0.05 || alike < recorded-0.05 || drawn < 2*recorded {
		t.Errorf("%.2f of the recorded inputs are errors, %.2f of the drawn ones, %.2f of those drawn alike",
			recorded, drawn, alike)
	}
}
