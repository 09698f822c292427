package proof_test

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/solve"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A pair is a function of a rule's golden archive, before and after.
type pair struct{ name, target, before, after string }

func pairsOf(t *testing.T, rule string) []pair {
	t.Helper()
	files, _ := filepath.Glob("../../mutate/rules/*/testdata/" + rule + ".txtar")
	if len(files) != 1 {
		t.Fatalf("%s has archives %q, want one", rule, files)
	}
	ar, err := txtar.ParseFile(files[0])
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

// TestLemmas proves what mutate/rules states. Rules that claim exactness have a
// lemma, or a reason why not.
func TestLemmas(t *testing.T) {
	if len(solve.Installed()) == 0 {
		t.Skip("no solver is installed: apt install z3")
	}
	lib := exec.NewLibrary(".")
	for _, m := range rules.All {
		l, has := rules.LemmaOf(m.Name)
		if why := rules.WithoutLemma[m.Name]; has && why != "" {
			t.Errorf("%s has a lemma, and a reason for none: %s", m.Name, why)
		}
		if !has {
			continue
		}
		i := slices.IndexFunc(pairsOf(t, m.Name), func(p pair) bool { return p.name == l.After })
		if i < 0 {
			t.Errorf("%s: its archive has no %s", m.Name, l.After)
			continue
		}
		// The time is no part of the claim: a loaded machine takes longer.
		r := pairsOf(t, m.Name)[i].prove(t, lib, proof.Budget{Time: 30 * time.Second, Longest: max(l.Length, 4)})
		if !r.Proved || l.Length == 0 && !r.Complete || l.Length > 0 && !r.Complete && r.Length < l.Length {
			t.Errorf("%s %s is not proved to %d: %+v", m.Name, l.After, l.Length, *r)
		}
		t.Logf("%-18s %-32s length %2d, all %v, %5d terms, %v %v", m.Name, l.After, r.Length, r.Complete, r.Nodes,
			r.Spent.Round(time.Millisecond), r.Solvers)
	}
}

// TestEveryPair tries every example of every rule that claims exactness, and prints the outcomes.
// It asks for minutes: -pairs names the rules, or all.
func TestEveryPair(t *testing.T) {
	if *pairs == "" {
		t.Skip("asks for minutes: -args -pairs all")
	}
	lib := exec.NewLibrary(".")
	for _, m := range rules.All {
		if m.Class != beagle.E0 && m.Class != beagle.E1 || *pairs != "all" && *pairs != m.Name {
			continue
		}
		for _, p := range pairsOf(t, m.Name) {
			r := p.prove(t, lib, proof.Budget{Time: time.Second, Longest: 16})
			if r.Differs != nil {
				t.Errorf("%s %s: the terms differ at %v", m.Name, p.name, r.Differs.Values)
			}
			t.Logf("%s %-18s %-32s proved %v, all %v, length %d %s", m.Class, m.Name, p.name, r.Proved, r.Complete,
				r.Length, r.Why)
		}
	}
}

var pairs = flag.String("pairs", "", "the rule whose examples are all tried, or all")
