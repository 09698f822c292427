package rules_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A path is a stack of rules on one target: for each, the rule and the label of its parameter. It
// always takes the first site.
type path struct {
	target string
	facets *beagle.Facets
	steps  [][2]string
}

const tagBytes = "abcdefghijklmnopqrstuvwxyz0123456789:./-"

var paths = []path{
	{"Valid", nil, [][2]string{{"byte-table", ""}, {"skip-run", "4"}, {"unsigned-index", ""}}},
	{"Normalize", mostlyClean(), [][2]string{{"identity-fast-path", "inner '_'"}, {"skip-run", "4"}}},
	{"Merge", &beagle.Facets{Params: []beagle.ParamFacet{{Sorted: 0.98}, {Sorted: 0.98}}}, [][2]string{{"sorted-merge", "look first"}}},
	{"Fibonacci", nil, [][2]string{{"recurrence", "double"}}},
	{"Sum", nil, [][2]string{{"checksum-std", ""}}},
	{"Hash", nil, [][2]string{{"block-consume", ""}, {"word-load", ""}}},
	{"Key", nil, [][2]string{{"unordered-fold", "set 64"}}},
}

func mostlyClean() *beagle.Facets {
	f := &beagle.Facets{
		Identity: 0.93,
		Mined:    minedOf("start " + tagBytes + "\nrest " + tagBytes),
		Params:   []beagle.ParamFacet{{Bytes: make([]float64, 256)}},
	}
	for _, c := range []byte(tagBytes + "_ ,") {
		f.Params[0].Bytes[c] = 0.01
	}
	f.Params[0].Bytes['_'] = 0.02
	return f
}

// TestPosts stacks rules on the functions that the catalogue says they win. It compares the results
// on mixed traffic, and times both. It demands half of what a quiet machine shows, which leaves
// room for a busy one.
func TestPosts(t *testing.T) {
	if testing.Short() {
		t.Skip("times code")
	}
	src, err := os.ReadFile("testdata/posts/tags.go")
	if err != nil {
		t.Fatal(err)
	}
	after := string(src)
	for _, p := range paths {
		after = take(t, after, p)
	}
	main, err := os.ReadFile("testdata/posts/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	clause := regexp.MustCompile(`(?m)^package tags$`)
	put(t, filepath.Join(dir, "go.mod"), "module golden\n\ngo 1.26\n")
	put(t, filepath.Join(dir, "main.go"), string(main))
	put(t, filepath.Join(dir, "before", "tags.go"), clause.ReplaceAllString(string(src), "package before"))
	put(t, filepath.Join(dir, "after", "tags.go"), clause.ReplaceAllString(after, "package after"))
	if out, err := goTool(dir, "build", "-trimpath", "-o", "program", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bars := map[string]float64{"validator": 1.5, "normaliser": 3, "merge": 1.3, "fibonacci": 500,
		"checksum": 5, "murmur": 1, "key": 1.3}
	best := map[string]float64{}
	for range 5 { // a busy machine may hide a gain from one run
		out, err := exec.Command(filepath.Join(dir, "program")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := map[string]float64{}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		missed := false
		for name, bar := range bars {
			best[name] = max(best[name], got[name])
			missed = missed || best[name] < bar
		}
		if !missed {
			break
		}
	}
	for name, bar := range bars {
		t.Logf("%-10s %8.2fx", name, best[name])
		if best[name] < bar {
			t.Errorf("%s: %.2fx, want at least %gx", name, best[name], bar)
		}
	}
}

// TestStacks takes random steps on the same functions. Other rules must understand what one rule
// writes, or leave it alone.
func TestStacks(t *testing.T) {
	src, err := os.ReadFile("testdata/posts/tags.go")
	if err != nil {
		t.Fatal(err)
	}
	var walks []*golden
	for seed := range uint64(24) {
		p := paths[seed%uint64(len(paths))]
		walks = append(walks, randomWalk(t, string(src), p, rand.New(rand.NewPCG(seed, 1))))
	}
	differential(t, walks)
}

// randomWalk takes four steps with exact rules only; the others are guesses that verification
// decides.
func randomWalk(t *testing.T, src string, p path, rng *rand.Rand) *golden {
	g := &golden{rule: &mutate.Mutator{Class: beagle.E1}, name: p.target, before: src, facets: p.facets,
		opts: map[string]string{"target": p.target, "inputs": "400", "ints": "-2 16"}, got: map[string]string{}}
	for range 4 {
		pass, err := mutate.Check(src, p.target, p.facets)
		if err != nil {
			t.Fatalf("%s after %s does not type-check: %v\n%s", p.target, g.name, err, src)
		}
		if g.pass == nil {
			g.pass = pass
		}
		moves := mutate.Moves(pass, exact())
		if len(moves) == 0 {
			break
		}
		m := moves[rng.IntN(len(moves))]
		next, step, err := taken(pass, rules.Named(m.Mutator), m.Site, m.Param)
		if err != nil {
			continue
		}
		g.name += ", " + step.Mutator + " " + step.Param
		src = next
	}
	g.got["after.go"], g.order = src, []string{"after.go"}
	return g
}

func exact() []*mutate.Mutator {
	var out []*mutate.Mutator
	for _, m := range rules.All {
		if m.Class == beagle.E0 || m.Class == beagle.E1 || m.Class == beagle.E4 {
			out = append(out, m)
		}
	}
	return out
}

// take applies a path to a source.
func take(t *testing.T, src string, p path) string {
	t.Helper()
	for _, step := range p.steps {
		pass, err := mutate.Check(src, p.target, p.facets)
		if err != nil {
			t.Fatal(err)
		}
		if src, err = first(pass, step[0], step[1]); err != nil {
			t.Fatalf("%s, %s: %v", p.target, strings.Join(step[:], " "), err)
		}
	}
	return src
}

// first applies a rule at its first site.
func first(p *mutate.Pass, name, label string) (string, error) {
	m := rules.Named(name)
	i := 0
	if sites := m.Find(p); m.Params != nil && len(sites) > 0 {
		for j, param := range m.Params(p, sites[0]) {
			if param.Label == label {
				i = j
			}
		}
	}
	src, _, err := taken(p, m, 0, i)
	return src, err
}
