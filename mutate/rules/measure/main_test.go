package main

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	r := summary([]float64{2, 2, 2})
	if r.Point != 2 || r.Low != 2 || r.High != 2 {
		t.Errorf("three equal links give %+v", r)
	}
	r = summary([]float64{1, 4}) // one degree of freedom: half of ln 4, times 12.706
	if r.Point != 2 || math.Abs(math.Log(r.High/2)-12.706*math.Log(2)) > 0.01 {
		t.Errorf("1 and 4 give %+v", r)
	}
	if got := round(12.3456); got != 12.35 {
		t.Errorf("round gives %v", got)
	}
}

// TestBuild checks that the example of a rule becomes packages that build, and that a rule whose
// example cannot run says why.
func TestBuild(t *testing.T) {
	b, err := newBuild("..")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if why, err := b.add("shrink-ends"); why != "" || err != nil {
		t.Fatalf("shrink-ends: %q, %v", why, err)
	}
	if why, err := b.add("fix-hostport"); !strings.Contains(why, "connections") || err != nil {
		t.Errorf("fix-hostport: %q, %v", why, err)
	}
	if _, err := b.add("no-such-rule"); err == nil {
		t.Error("a rule without an archive is accepted")
	}
	cmd := exec.Command("go", "build", "./p0", "./p1", "./differ")
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOptions(t *testing.T) {
	if err := run(options{links: 2, rounds: 1, dir: ".."}); err == nil || !strings.Contains(err.Error(), "interval") {
		t.Errorf("two links: %v", err)
	}
}
