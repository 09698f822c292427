package proof_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A pair is what a rule made of a function of its golden archive.
type pair struct{ name, target, before, after string }

func pairsOf(t *testing.T, rule string) []pair {
	t.Helper()
	ar, err := txtar.ParseFile(filepath.Join("..", "..", "mutate", "rules", "testdata", rule+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var out []pair
	before, target := "", ""
	last := ""
	for _, f := range ar.Files {
		dir, base, _ := strings.Cut(f.Name, "/")
		if dir != last {
			before, target, last = "", "", dir
		}
		switch {
		case base == "before.go":
			before = string(f.Data)
		case base == "options":
			for line := range strings.Lines(string(f.Data)) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "target "); ok {
					target = name
				}
			}
		case strings.HasPrefix(base, "after"):
			out = append(out, pair{f.Name, target, before, string(f.Data)})
		}
	}
	return out
}

func (p *pair) prove(t *testing.T, lib *exec.Library, b proof.Budget) *proof.Result {
	t.Helper()
	o, err := lib.FromText(p.before, p.target)
	if err != nil {
		return &proof.Result{Why: err.Error()}
	}
	c, err := lib.FromText(p.after, p.target)
	if err != nil {
		return &proof.Result{Why: err.Error()}
	}
	return proof.Prove(t.Context(), o, c, lib, b)
}

var from = flag.String("from", "", "")

func TestLemmas(t *testing.T) {
	lib := exec.NewLibrary(".")
	seen := *from == ""
	for _, m := range rules.All {
		if m.Class != beagle.E0 && m.Class != beagle.E1 {
			continue
		}
		if m.Name == *from {
			seen = true
		}
		if !seen {
			continue
		}
		for _, p := range pairsOf(t, m.Name) {
			r := p.prove(t, lib, proof.Budget{Time: time.Second, Longest: 16})
			verdict := "NONE: " + r.Why
			switch {
			case r.Differs != nil:
				verdict = fmt.Sprintf("DIFFERS %v", r.Differs.Values)
			case r.Proved && r.Complete:
				verdict = "all inputs"
			case r.Proved:
				verdict = fmt.Sprintf("length %d", r.Length)
			}
			t.Logf("%s %s %s: %s (%v %v)", m.Class, m.Name, p.name, verdict, r.Spent.Round(time.Millisecond), r.Solvers)
		}
	}
}
