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
)

// open are pairs that nothing is known of within the time, or only sometimes.
var open = []string{"popcount/right.go", "tenth/right.go", "split-product/right.go", "runes/right.go",
	"average/right.go", "spaces/wrong.go"}

// TestPairs compares the functions of testdata/pairs.txtar: NAME/original.go
// with NAME/right*.go, which must never differ, and with NAME/wrong*.go, which
// must.
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
	count := 0
	for _, f := range ar.Files {
		if filepath.Base(f.Name) == "original.go" {
			original = string(f.Data)
			continue
		}
		count++
		p := pair{
			name:   f.Name,
			target: "F",
			before: "package p\n\n" + original,
			after:  "package p\n\n" + string(f.Data),
		}
		// Wrong ones get more time than a finalist: whether they are found is the point here.
		b := proof.Budget{Time: 2 * time.Second, Longest: 16}
		wrong := filepath.Base(f.Name)[0] == 'w'
		switch {
		case slices.Contains(open, f.Name): // it must not be told a difference, and needs no time for that
			b.Time = 500 * time.Millisecond
		case wrong:
			b.Time = 10 * time.Second
		}
		r := p.prove(t, lib, b)
		t.Logf("%-26s proved %5v, all %5v, length %2d, %5d terms, %6v %v %s", f.Name, r.Proved, r.Complete,
			r.Length, r.Nodes,
			r.Spent.Round(time.Millisecond), r.Solvers, r.Why)
		switch {
		case wrong && r.Differs == nil && !slices.Contains(open, f.Name):
			t.Errorf("%s: no difference was found: %+v", f.Name, *r)
		case !wrong && r.Differs != nil:
			t.Errorf("%s: a difference: %v", f.Name, r.Differs.Values)
		case !wrong && !r.Proved && !slices.Contains(open, f.Name):
			t.Errorf("%s: nothing is proved: %s", f.Name, r.Why)
		}
	}
	t.Logf("%d pairs", count)
	if count < 30 {
		t.Errorf("%d pairs, want 30", count)
	}
}
