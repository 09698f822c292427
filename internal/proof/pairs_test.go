package proof_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/solve"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// open are pairs that nothing is known of within the time, or only sometimes.
var open = []string{"popcount/right.go", "tenth/right.go", "split-product/right.go", "runes/right.go",
	"average/right.go", "spaces/wrong.go"}

// pairsDrawn is the number of pairs that a run compares.
const pairsDrawn = 10

// TestPairs compares the functions of testdata/pairs.txtar: NAME/original.go
// with NAME/right*.go, which must never differ, and with NAME/wrong*.go, which
// must. A run tries half of them, drawn anew each time.
func TestPairs(t *testing.T) {
	if len(solve.Installed()) == 0 {
		t.Skip("no solver is installed: apt install z3")
	}
	ar, err := txtar.ParseFile(filepath.Join("testdata", "pairs.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	lib := exec.NewLibrary(".")
	original := ""
	var all []pair
	for _, f := range ar.Files {
		if filepath.Base(f.Name) == "original.go" {
			original = string(f.Data)
			continue
		}
		all = append(all, pair{
			name:   f.Name,
			target: "F",
			before: "package p\n\n" + original,
			after:  "package p\n\n" + string(f.Data),
		})
	}
	if len(all) < 30 {
		t.Fatalf("%d pairs, want 30", len(all))
	}
	for _, p := range sampletest.Of(t, all, pairsDrawn) {
		// Wrong ones get more time than a finalist: whether they are found is the point here.
		b := proof.Budget{Time: 2 * time.Second, Longest: 16}
		wrong := filepath.Base(p.name)[0] == 'w'
		switch {
		case slices.Contains(open, p.name): // the solver must not report a difference, and needs no time for that
			b.Time = 500 * time.Millisecond
		case wrong:
			b.Time = 10 * time.Second
		}
		r := p.prove(t, lib, b)
		if r.Differs == nil && (wrong || !r.Proved) && !slices.Contains(open, p.name) {
			b.Time = time.Minute // the time is no part of the claim: a loaded machine takes longer
			r = p.prove(t, lib, b)
		}
		t.Logf("%-26s proved %5v, all %5v, length %2d, %5d terms, %6v %v %s", p.name, r.Proved, r.Complete,
			r.Length, r.Nodes,
			r.Spent.Round(time.Millisecond), r.Solvers, r.Why)
		switch {
		case wrong && r.Differs == nil && !slices.Contains(open, p.name):
			t.Errorf("%s: no difference was found: %+v", p.name, *r)
		case !wrong && r.Differs != nil:
			t.Errorf("%s: a difference: %v", p.name, r.Differs.Values)
		case !wrong && !r.Proved && !slices.Contains(open, p.name):
			t.Errorf("%s: nothing is proved: %s", p.name, r.Why)
		}
	}
}
