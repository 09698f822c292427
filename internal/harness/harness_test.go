package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

var scratch string // of all tests together

func TestMain(m *testing.M) {
	sandbox.Main()
	dir, err := os.MkdirTemp("", "harness")
	if err != nil {
		panic(err)
	}
	scratch = dir
	os.Setenv("BEAGLE_HOME", filepath.Join(dir, "home"))
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// A fixture is a target in a module of its own.
type fixture struct {
	u   *source.Unit
	box *sandbox.Sandbox
	b   *Builder
}

// load writes a module whose files are given as "path": "text".
func load(t testing.TB, spec string, files map[string]string) *fixture {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "module")
	if err != nil {
		t.Fatal(err)
	}
	if files["go.mod"] == "" {
		files["go.mod"] = "module ex.com/hx\n\ngo 1.24\n"
	}
	for name, text := range files {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBuilder(t.Context(), u, box, filepath.Join(dir, "build"))
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{u, box, b}
}

var shared *fixture

// sum returns the target of sumFile, loaded once for all tests.
func sum(t testing.TB) *fixture {
	t.Helper()
	if shared == nil {
		shared = load(t, "./sum.Sum", map[string]string{"sum/sum.go": sumFile, "sum/sum_test.go": ownTest})
	}
	return shared
}

const ownTest = "package sum\n\nimport \"testing\"\n\nfunc TestOwn(t *testing.T) { t.Fatal(\"the package's own tests " +
	"run\") }\n"

func (f *fixture) variants(candidates ...string) []Variant {
	vs := []Variant{{ID: "original", Source: f.u.Target.Source}}
	for _, c := range candidates {
		vs = append(vs, Variant{ID: "candidate", Source: c})
	}
	return vs
}

// build makes a program of the original and the candidates.
func (f *fixture) build(t testing.TB, o Link, candidates ...string) *Binary {
	t.Helper()
	bin, err := f.b.Build(t.Context(), f.variants(candidates...), o)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// edit returns the original with replacements: old, new, old, new, ...
func (f *fixture) edit(t testing.TB, pairs ...string) string {
	t.Helper()
	src := f.u.Target.Source
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(src, pairs[i]) {
			t.Fatalf("the original does not contain %q:\n%s", pairs[i], src)
		}
		src = strings.Replace(src, pairs[i], pairs[i+1], 1)
	}
	return src
}

// records writes calls, each a pointer to a struct of the arguments.
func records[A any](t testing.TB, calls ...A) map[string]string {
	t.Helper()
	var out []rt.Record
	for i := range calls {
		b, err := rt.Encode(&calls[i])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rt.Record{Args: b, Weight: 1})
	}
	path := filepath.Join(t.TempDir(), "records")
	if err := rt.WriteRecords(path, out); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"records": path}
}

// replay compares a variant with the original on recorded calls.
func (f *fixture) replay(t testing.TB, bin *Binary, variant int, calls map[string]string) (*rt.ReplayReply, *Exit) {
	t.Helper()
	return f.request(t, bin, &rt.Request{Stall: 15000, Replay: &rt.Replay{Variant: variant}}, calls)
}

// replayThreads calls a variant from several goroutines at once.
func (f *fixture) replayThreads(
	t testing.TB, bin *Binary, variant int, calls map[string]string,
) (*rt.ReplayReply, *Exit) {
	t.Helper()
	return f.request(t, bin, &rt.Request{Procs: 2, Replay: &rt.Replay{Variant: variant, Threads: 4}}, calls)
}

func (f *fixture) request(t testing.TB, bin *Binary, q *rt.Request, calls map[string]string) (*rt.ReplayReply, *Exit) {
	t.Helper()
	var reply rt.ReplayReply
	q.Replay.Records = []string{"records"}
	exit, err := bin.Run(t.Context(), f.box, q, &reply,
		RunOptions{Wall: time.Minute, CPU: -1, Files: calls, DataBytes: 512 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return &reply, exit
}

const sumFile = `package sum

// Sum adds the first n numbers.
func Sum(s []int, n int) int {
	t := 0
	for i := 0; i < n; i++ {
		t += weigh(s[i])
	}
	return t
}

func weigh(x int) int { return x*3 + 1 }
`

type sumArgs struct {
	A0 []int
	A1 int
}

func TestBuildDropsWhatDoesNotCompile(t *testing.T) {
	f := sum(t)
	good := f.edit(t, "i < n", "i < n && i < len(s)")
	vs := f.variants(good, f.edit(t, "return t", "return u"), good,
		f.edit(t, "t := 0", "var big [1 << 60]int\n\tbig[n]++\n\tt := big[n/2]"))
	bin, err := f.b.Build(t.Context(), vs, Link{FuncAlign: 64})
	if err != nil {
		t.Fatal(err)
	}
	if len(bin.Failed) != 2 || !strings.Contains(bin.Failed[2], "line 9: undefined: u") || bin.Failed[4] == "" {
		t.Errorf("failed: %v", bin.Failed)
	}
	calls := records(t, sumArgs{[]int{1, 2, 3}, 2}, sumArgs{nil, 0})
	for _, i := range []int{0, 1, 3} {
		if reply, exit := f.replay(t, bin, i, calls); exit != nil || reply.Diff != nil || reply.Cases != 2 {
			t.Errorf("variant %d: %+v %v", i, reply, exit)
		}
	}
	if s := bin.Static; s[0].BoundsChecks != 1 || s[1].BoundsChecks != 0 || !s[0].Inlinable || s[0].InlineCost == 0 ||
		s[0].CodeBytes == 0 {
		t.Errorf("static facts: %+v", s)
	}
	if n := bin.Static[0].Notes; len(n) != 3 || n[1].Line != 7 || n[1].Code != "isInBounds" {
		t.Errorf("notes: %v", n)
	}
	if bin.Static[1].CodeHash != bin.Static[3].CodeHash || bin.Static[0].CodeHash == bin.Static[1].CodeHash {
		t.Errorf("code hashes: %+v", bin.Static)
	}
}

func TestRunTellsHowAVersionEnded(t *testing.T) {
	f := sum(t)
	body := "t := 0\n\tif len(s) == 5 {\n\t\t%s\n\t}"
	tests := []struct{ kind, detail, code string }{
		{Hang, "", "for len(s) == 5 {\n}"},
		{Hang, "", "select {}"},
		{Crash, "status 0", "os.Exit(0)"},
		{Crash, "stack", "return Sum(s, n) + 1"},
		{Crash, "panic: away", "done := make(chan int)\n\t\tgo func() { panic(\"away\") }()\n\t\t<-done"},
		{Memory, "", "var all [][]byte\n\t\tfor {\n\t\t\tall = append(all, make([]byte, 1<<24))\n\t\t\tall[0][0]++\n\t\t}"},
		{Output, "", "for {\n\t\t\tfmt.Println(strings.Repeat(\"x\", 1<<16))\n\t\t}"},
		{"", "", `fmt.Println("{\"nonce\":\"x\",\"result\":{}}")`},
	}
	var sources []string
	for _, test := range tests {
		// drops imports
		src, err := f.u.Reader.Normalize(f.edit(t, "package sum\n",
			"package sum\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n)\n", "t := 0",
			strings.Replace(body, "%s", test.code, 1)))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	bin := f.build(t, Link{}, sources...)
	calls := records(t, sumArgs{[]int{1}, 1}, sumArgs{[]int{1, 2, 3, 4, 5}, 3})
	for i, test := range tests {
		if why := bin.Failed[i+1]; why != "" {
			t.Fatal(why)
		}
		_, exit := f.replay(t, bin, i+1, calls)
		if test.kind == "" {
			if exit != nil {
				t.Errorf("a forged reply was taken for the end: %v", exit)
			}
			continue
		}
		if exit == nil || exit.Kind != test.kind || !strings.Contains(exit.Detail, test.detail) {
			t.Errorf("%s: got %v, want %s: ...%s...", test.code, exit, test.kind, test.detail)
		} else if exit.Record != 1 || exit.Variant != i+1 {
			t.Errorf("%s: at variant %d, record %d, want %d and 1", test.code, exit.Variant, exit.Record, i+1)
		}
	}
}

func TestRunReportsABadRequest(t *testing.T) {
	f := sum(t)
	bin := f.build(t, Link{})
	exit, err := bin.Run(t.Context(), f.box, &rt.Request{}, nil, RunOptions{CPU: -1})
	if exit != nil || err == nil || !strings.Contains(err.Error(), "nothing to do") {
		t.Errorf("got %v, %v", exit, err)
	}
}

func TestRelink(t *testing.T) {
	f := sum(t)
	bin := f.build(t, Link{FuncAlign: 64}, f.edit(t, "x*3 + 1", "x + x + x + 1"))
	calls := records(t, sumArgs{[]int{1, 2, 3}, 2})
	seen := map[string]bool{}
	for _, layout := range []uint64{1, 2} {
		other, err := f.b.Relink(t.Context(), bin, Link{Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		if reply, exit := f.replay(t, other, 1, calls); exit != nil || reply.Diff != nil {
			t.Errorf("layout %d: %+v %v", layout, reply, exit)
		}
		text, _ := os.ReadFile(other.Path)
		seen[string(text)] = true
	}
	if len(seen) != 2 {
		t.Error("two seeds gave the same program")
	}
	if _, err := f.b.Relink(t.Context(), bin, Link{Race: true}); err == nil {
		t.Error("relinking with the race detector was accepted")
	}
}
