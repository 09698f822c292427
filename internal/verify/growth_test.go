package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

const uniqueOriginal = `package p

// Unique counts the different strings of a list.
func Unique(list []string) int {
	seen := map[string]bool{}
	for _, s := range list {
		seen[s] = true
	}
	return len(seen)
}
`

var growers = []struct{ name, refused, body string }{
	{"quadratic", "grows faster", `
	n := 0
next:
	for i, s := range list {
		for _, t := range list[:i] {
			if s == t {
				continue next
			}
		}
		n++
	}
	return n`},
	{"quadratic up to a bound", "", `
	if len(list) > 16 {
		seen := make(map[string]struct{}, len(list))
		for _, s := range list {
			seen[s] = struct{}{}
		}
		return len(seen)
	}
	n := 0
next:
	for i, s := range list {
		for _, t := range list[:i] {
			if s == t {
				continue next
			}
		}
		n++
	}
	return n`},
	{"slower by a factor beyond a bound", "", `
	seen := map[string]bool{}
	for _, s := range list {
		for range max(1, min(10, len(list)/10)) {
			seen[s] = true
		}
	}
	return len(seen)`},
	{"somewhat slower throughout", "", `
	n := 0
	for range 2 {
		seen := map[string]bool{}
		for _, s := range list {
			seen[s] = true
		}
		n = len(seen)
	}
	return n`},
}

// TestGrowth checks that a version is refused if it is quadratic where the original is not. A
// version that is only slower is left to the measurement.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/go.mod", "module ex.com/grow\n\ngo 1.24\n")
	put(t, dir+"/p/p.go", uniqueOriginal)
	c := &catalogue{env: environment(t, dir, "./p.Unique"), corpus: &beagle.Corpus{}}
	for _, line := range []string{`[["a","b","a"]]`, `[["x"]]`, `[[]]`,
		`[["one","two","three","four","five","six","one","seven","eight"]]`} {
		c.corpus.Train = append(c.corpus.Train, record(t, line, rt.KindInt))
	}
	vs := []harness.Variant{{ID: "original", Source: uniqueOriginal}}
	var cands []beagle.Candidate
	for _, g := range growers {
		cand := beagle.NewCandidate("package p\n\nfunc Unique(list []string) int {"+g.body+"\n}\n", nil, nil)
		cands = append(cands, cand)
		vs = append(vs, harness.Variant{ID: cand.ID, Source: cand.Source})
	}
	bin, err := c.env.Builder.Build(t.Context(), vs, harness.Link{})
	if err != nil {
		t.Fatal(err)
	}
	ladder := slices.DeleteFunc(slices.Clone(FullLadder), func(k Check) bool {
		return k.Name != "parse" && k.Name != "growth"
	})
	for i, g := range growers {
		j := &Job{Env: c.env, Candidate: cands[i], Corpus: c.corpus, bin: bin, idx: i + 1,
			Budget: Budget{}.orDefaults()}
		v, err := ladder.climb(t.Context(), j)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		t.Logf("%s: %v %s %+v", g.name, v.Status, v.Reason, v.Checks[len(v.Checks)-1])
		if v.OK() != (g.refused == "") || !strings.Contains(v.Reason, g.refused) {
			t.Errorf("%s: %v %q, want %q", g.name, v.Status, v.Reason, g.refused)
		}
	}
}
