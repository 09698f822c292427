package profiles

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// TestProgram profiles a real program, in which all that the compiler does to
// names happens: generics, literals, method values, inlining, range-over-func
// and wrappers. Each must count for the function that is written. Every part
// of the program runs for a while by a counter, so that shares are alike.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and profiles a program")
	}
	dir, err := filepath.Abs("testdata/program")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	goTool := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	for name, flags := range map[string][]string{"plain": nil, "trimmed": {"-trimpath"}} {
		t.Run(name, func(t *testing.T) {
			program, cpu := filepath.Join(out, name), filepath.Join(out, name+".pprof")
			goTool(append(append([]string{"build", "-o", program}, flags...), "./cmd/run")...)
			if said, err := exec.CommandContext(t.Context(), program, cpu,
				filepath.Join(out, name+".allocs.pprof")).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			h := rankProgram(t, dir, program, cpu, filepath.Join(out, name+".allocs.pprof"))
			checkProgram(t, h)
		})
	}
}

func rankProgram(t *testing.T, dir, program string, sources ...string) *hotspots.Table {
	t.Helper()
	all, err := Read(context.Background(), sources, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Checkout(filepath.Join(dir, "work"), nil, all) // a directory inside of the module
	if err != nil {
		t.Fatal(err)
	}
	if c.Build, err = BuildID(program); err != nil {
		t.Fatal(err)
	}
	h, err := hotspots.Rank(all, hotspots.Options{Least: 0.001, Checkout: c})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func checkProgram(t *testing.T, h *hotspots.Table) {
	t.Helper()
	shares := map[string]float64{}
	files := map[string]string{}
	for _, x := range h.Hotspots.Hotspots {
		shares[x.Target], files[x.Target] = x.Net, x.File
	}
	const m = "example.com/program"
	for target, file := range map[string]string{
		m + "/work.Sum":        "work/work.go", // two instances of a generic function
		m + "/work.Set.Add":    "work/work.go", // a method of a generic type
		m + "/work.Mixed":      "work/work.go", // its literal was inlined into main with it, or not
		m + "/work.Point.Turn": "work/work.go", // by method value, by interface and its wrapper
		m + "/work.Ptr.Move":   "work/work.go", // pointer receiver, through a method expression
		m + "/work.Inlines":    "work/work.go", // small is inlined into it
		m + "/work.Alloc":      "work/work.go",
		"./cmd/run.ranged":     "cmd/run/main.go", // the body of a range-over-func loop
		"./cmd/run.spawned":    "cmd/run/main.go", // a literal in a go statement
	} {
		if shares[target] == 0 || files[target] != file {
			t.Errorf("%s: net %g in %q, want a share in %s", target, shares[target], files[target], file)
		}
	}
	for target := range shares {
		if strings.ContainsAny(target, "[(*") || strings.Contains(target, ".func") || strings.HasSuffix(target, "-fm") {
			t.Errorf("%s is not a name of a declaration", target)
		}
	}
	if h.GCBy != "allocated bytes" {
		t.Errorf("the collector's bill goes by %q", h.GCBy)
	}
	dropped, _, err := h.Why("generated.Spin")
	if err != nil || len(dropped) == 0 || !strings.Contains(dropped[0].Reason, "generated") ||
		len(dropped[0].CountsFor) == 0 {
		t.Errorf("generated code: %+v, %v", dropped, err)
	}
	dropped, _, err = h.Why("work.small")
	if err != nil || len(dropped) == 0 || !slices.ContainsFunc(dropped[0].CountsFor, func(c beagle.CostShare) bool {
		return strings.HasSuffix(c.What, "work.Inlines")
	}) {
		t.Errorf("a function that is inlined into another: %+v, %v", dropped, err)
	}
	if dropped, _, err = h.Why("strings.Repeat"); err == nil &&
		!strings.Contains(dropped[0].Reason, "standard library") {
		t.Errorf("the standard library: %+v", dropped)
	}
	for _, w := range h.Warnings {
		if !strings.Contains(w, "samples are few") {
			t.Errorf("a warning about the program's own checkout: %s", w)
		}
	}
}
