package rt

import (
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestTailRepeats(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 31, 32, 33, 1000, 70_000} {
		seen := map[int]bool{}
		for k := range n {
			switch number := countingTail(k, n); {
			case number < 0 || number > k:
				t.Fatalf("tail(%d, %d) = %d", k, n, number)
			case seen[number] != (k >= n-min(n/2, 16)):
				t.Errorf("tail(%d, %d) = %d: repeated %v", k, n, number, seen[number])
			default:
				seen[number] = true
			}
		}
		if last := countingTail(n-1, n); n > 1 && last != n-min(n/2, 16)-1 {
			t.Errorf("the last of %d repeats %d, not the latest", n, last)
		}
	}
}

// TestCoverMeetsAllPairs: every pair of levels of every two factors, in not
// many more rows than the largest two factors have pairs.
func TestCoverMeetsAllPairs(t *testing.T) {
	parts := []factor{{0, 7}, {0, 5}, {1, 2}, {2, 9}, {3, 4}}
	rng := rand.New(rand.NewPCG(1, 1))
	c := newCover(parts)
	met := map[[4]int]bool{}
	rows := 0
	for levels := c.next(rng); levels != nil; levels = c.next(rng) {
		rows++
		for i := range parts {
			for k := i + 1; k < len(parts); k++ {
				met[[4]int{i, k, levels[i], levels[k]}] = true
			}
		}
	}
	want := 0
	for i := range parts {
		for k := i + 1; k < len(parts); k++ {
			want += parts[i].levels * parts[k].levels
		}
	}
	if len(met) != want || rows > 2*7*9 {
		t.Errorf("%d of %d pairs in %d rows", len(met), want, rows)
	}
}

func TestAdded(t *testing.T) {
	for _, c := range [][3]string{{"4294967296", "1", "4294967297"}, {"256", "9999", "10255"},
		{"18446744073709551616", "00", "18446744073709551616"}} {
		if got := decimalSum(c[0], c[1]); got != c[2] {
			t.Errorf("added(%s, %s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
	if list := numberChanges("7"); !slices.Contains(list, "4294967303") ||
		!slices.Contains(list, strings.Repeat("0", 30)+"7") || !slices.Contains(list, "") {
		t.Errorf("%q", list)
	}
}

func TestCuts(t *testing.T) {
	var got []string
	const text = "k=v, n1"
	for _, c := range cutsOf([]byte(text)) {
		got = append(got, text[:c.from]+"<"+text[c.from:c.to]+">"+text[c.to:])
	}
	for _, want := range []string{"<>k=v, n1", "k=v, n1<>", "<k>=v, n1", "k=v, n<1>", "k<=>v, n1", "k=v<,> n1",
		"k=v, <>n1", "k=v, n<>1"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
}

// TestRunesMeetAllContexts: in four rounds each rune has four contexts, and in
// one round neither parity nor block decides which.
func TestRunesMeetAllContexts(t *testing.T) {
	counts := map[[3]int]int{}
	for r := rune(128); r < common; r++ {
		all := 0
		for round := range runeContexts {
			all |= 1 << contextOf(r, round)
		}
		if all != 15 {
			t.Fatalf("%U: contexts %04b", r, all)
		}
		counts[[3]int{int(r) & 1, int(r>>4) & 1, contextOf(r, 0)}]++
	}
	for key, n := range counts {
		if n < common/40 {
			t.Errorf("parity, block, context %v: %d", key, n)
		}
	}
	for _, r := range []rune{'\u212a', '\u017f', '\u0130', '\u1e9e'} {
		if !slices.Contains(folding(), r) {
			t.Errorf("%U is not among those that fold", r)
		}
	}
	if len(spaces) < 25 || !slices.Contains(spaces, '\u205f') || !unicode.Is(unicode.White_Space, spaces[0]) {
		t.Errorf("%U", spaces)
	}
}

type numberArgs struct {
	A0 *big.Int
	A1 big.Int
	A2 []*big.Int
	A3 time.Time
	A4 map[string]big.Int
}

// TestNoImpossibleNumbers: whatever the exhaustion and the minimiser make of
// another package's type, that package could have made it.
func TestNoImpossibleNumbers(t *testing.T) {
	kinds := map[string]bool{}
	check := func(a *numberArgs, r *textResults) {
		all := slices.Concat([]*big.Int{a.A0, &a.A1}, a.A2)
		for _, m := range a.A4 {
			all = append(all, &m)
		}
		for _, n := range all {
			if n == nil {
				continue
			}
			if bits := n.Bits(); len(bits) > 0 && bits[len(bits)-1] == 0 ||
				n.Sign() == 0 && (*big.Int)(n).Text(10) != "0" {
				t.Errorf("an impossible number: %#v", n)
			}
			kinds[n.String()] = true
			if n.BitLen() > 64 {
				r.R0 = "large"
			}
		}
		if _, err := a.A3.MarshalBinary(); err == nil && a.A3.Nanosecond() >= 1e9 {
			t.Errorf("an impossible time: %#v", a.A3)
		}
	}
	wrong := func(a *numberArgs, r *textResults) { check(a, r); r.R0 = "" }
	// A slow machine makes fewer in a given time.
	for budget := 300 * time.Millisecond; len(kinds) < 10 && budget < time.Minute; budget *= 10 {
		if out := exhausted(t, &Exhaust{Budget: int64(budget)}, check, check); out.Diff != nil {
			t.Fatalf("%+v", out.Diff)
		}
	}
	if len(kinds) < 10 {
		t.Errorf("%d numbers", len(kinds))
	}
	if out := exhausted(t, &Exhaust{Budget: int64(time.Minute)}, check, wrong); out.Diff == nil {
		t.Error("a large number was not made")
	}
	if s := slotsOf(reflect.TypeFor[numberArgs](), reflect.TypeFor[numberArgs]().PkgPath()); len(s) != 5 {
		t.Errorf("%d slots", len(s))
	}
}

// TestGrowthIsForeseen: an original of cubic cost is not asked for what it
// takes seconds for, and one of linear cost is.
func TestGrowthIsForeseen(t *testing.T) {
	for _, c := range []struct {
		name  string
		power int
		most  int // what it may be asked for
		least int // what it must be asked for
	}{{"cubic", 3, 4000, 200}, {"linear", 1, 1 << 21, 65_000}} {
		longest := 0
		work := func(a *textArgs, r *textResults) {
			longest = max(longest, len(a.A0))
			steps := 1
			for range c.power {
				steps *= len(a.A0)
			}
			x := uint32(steps)
			for range steps {
				x = x*1664525 + 1013904223
			}
			r.R0 = string(rune('a' + x%2))
		}
		// A slow machine gets less far in a given time.
		for budget := time.Second; longest < c.least && budget < time.Minute; budget *= 10 {
			q := &Exhaust{Records: calls(t, textArgs{"level=info n=17"}), Budget: int64(budget)}
			if out := exhausted(t, q, work, work); out.Diff != nil {
				t.Fatalf("%s: %+v", c.name, out.Diff)
			}
		}
		if longest > c.most || longest < c.least {
			t.Errorf("%s: up to %d", c.name, longest)
		}
	}
}
