package harness

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestGoBuild takes the way of packages that the compiler alone cannot build.
func TestGoBuild(t *testing.T) {
	f := load(t, "./sum.Sum", map[string]string{
		"sum/sum.go":   sumFile,
		"sum/embed.go": "package sum\n\nimport _ \"embed\"\n\n//go:embed data.txt\nvar Data string\n",
		"sum/data.txt": "data",
		"go.mod":       "module ex.com/old\n\ngo 1.17\n",
	})
	if f.b.viaGo != "embedded files" {
		t.Fatalf("through the go command: %q", f.b.viaGo)
	}
	good := f.edit(t, "i < n", "i < n && i < len(s)")
	bin := f.build(t, Link{
		FuncAlign: 64,
	}, f.edit(t, "return t", "return t & n | big(s)")+
		"\nfunc big(s []int) int {\n\tvar b [1 << 60]int\n\treturn b[len(s)]\n}\n", good)
	if len(bin.Failed) != 1 || bin.Failed[1] == "" {
		t.Fatalf("failed: %v", bin.Failed)
	}
	calls := records(t, sumArgs{[]int{1, 2, 3}, 2})
	if reply, exit := f.replay(t, bin, 2, calls); exit != nil || reply.Diff != nil {
		t.Errorf("%+v %v", reply, exit)
	}
	if s := bin.Static; s[0].BoundsChecks != 1 || s[2].BoundsChecks != 0 || s[0].CodeHash == "" ||
		s[0].CodeHash == s[2].CodeHash {
		t.Errorf("static facts: %+v", s)
	}
	other, err := f.b.Relink(t.Context(), bin, Link{Layout: 3})
	if err != nil {
		t.Fatal(err)
	}
	if reply, exit := f.replay(t, other, 2, calls); exit != nil || reply.Diff != nil {
		t.Errorf("relinked: %+v %v", reply, exit)
	}
}

func TestAssembly(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the assembly is for amd64")
	}
	f := load(t, "./sum.Sum", map[string]string{
		"sum/sum.go":   strings.Replace(sumFile, "{ return x*3 + 1 }", "{ return triple(x) + 1 }", 1) + "\nfunc triple(x int) int\n",
		"sum/triple.s": "TEXT ·triple(SB),4,$0-16\n\tMOVQ x+0(FP), AX\n\tLEAQ (AX)(AX*2), AX\n\tMOVQ AX, ret+8(FP)\n\tRET\n",
	})
	bin := f.build(t, Link{}, f.edit(t, "triple(x) + 1", "x*3 + 1"))
	if reply, exit := f.replay(t, bin, 1, records(t, sumArgs{[]int{1, 2, 3}, 2})); exit != nil || reply.Diff != nil ||
		reply.Cases != 1 {
		t.Errorf("%+v %v %v", reply, exit, bin.Failed)
	}
}

func TestCgo(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler")
	}
	f := load(t, "./sum.Sum", map[string]string{
		"sum/sum.go": sumFile,
		"sum/c.go":   "package sum\n\n// static int three(int x) { return 3*x; }\nimport \"C\"\n\nfunc Three(x int) int { return int(C.three(C.int(x))) }\n",
	})
	f.exhaust(t, f.build(t, Link{}, f.edit(t, "t := 0", "var t int")), 1)
}

func TestRace(t *testing.T) {
	f := sum(t)
	racy := f.edit(t, "t := 0", "calls++\n\tt := 0") + "\nvar calls int\n"
	bin, err := f.b.Build(t.Context(), f.variants(racy), Link{Race: true})
	if err != nil && strings.Contains(err.Error(), "needs cgo and a C compiler") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if bin.Failed[1] != "" {
		t.Fatal(bin.Failed[1])
	}
	if info, err := os.Stat(bin.Path); err != nil || info.Size() == 0 {
		t.Fatal(err)
	}
	calls := records(t, sumArgs{[]int{1, 2, 3}, 2}, sumArgs{[]int{1, 2}, 1})
	if _, exit := f.replayThreads(t, bin, 1, calls); exit == nil || exit.Kind != Race {
		t.Errorf("the race was not seen: %v", exit)
	}
	if _, exit := f.replayThreads(t, bin, 0, calls); exit != nil {
		t.Errorf("a race in the original: %v", exit)
	}
}

// TestGoOutput checks that the go command collects less garbage, whatever the caller's variables
// say.
func TestGoOutput(t *testing.T) {
	out, err := GoOutput(t.Context(), "env", "", []string{"GOGC=100", "GOWORK=off"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "GOWORK=off\nGOGC=400\nGOMEMLIMIT=2GiB\n"; got != want {
		t.Errorf("the variables are %q, want %q", got, want)
	}
}
