package main

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/bench"
)

// TestEstimate checks that the old side's time counts over the new one's, and that drift that both
// sides share does not.
func TestEstimate(t *testing.T) {
	var o outcome
	for i := range int64(20) {
		o.Wall[0] = append(o.Wall[0], 2000+100*i)
		o.Wall[1] = append(o.Wall[1], 1000+50*i)
	}
	e := o.estimate()
	if math.Abs(e.Log-math.Log(2)) > 1e-9 || e.Pairs != 20 {
		t.Errorf("a side of twice the time gives %+v", e)
	}
	r := rounded(bench.Combine([]bench.Estimate{e, e, e}).Ratio)
	if r.Point != 2 || r.Low != 2 || r.High != 2 {
		t.Errorf("three equal links give %+v", r)
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
