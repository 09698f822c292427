package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

const module = "testdata/benchmarks"

// TestRules checks that each rule finds its mistakes, at their lines, and nothing
// else; sound benchmarks stand beside them.
func TestRules(t *testing.T) {
	t.Setenv("GOWORK", "off") // the examples are a module of their own
	r, err := Run(t.Context(), Options{Dir: module})
	if err != nil {
		t.Fatal(err)
	}
	want, seen := wanted(t), map[string]bool{}
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Rule))
		seen[f.Rule] = true
		if f.Reason == "" || f.Remedy == "" || !strings.HasPrefix(f.Benchmark, "Benchmark") {
			t.Errorf("%+v", f)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, rule := range Rules {
		if !seen[rule.ID] {
			t.Errorf("no example shows the rule %s", rule.ID)
		}
	}
	if r.Benchmarks < 30 {
		t.Errorf("%d benchmarks were read", r.Benchmarks)
	}
}

// wanted returns the findings that comments of the examples ask for.
func wanted(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(module + "/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := regexp.MustCompile(`// want (\S+)`).FindStringSubmatch(line); m != nil {
				out = append(out, fmt.Sprintf("%s:%d %s", filepath.Base(file), i+1, m[1]))
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestStandardLibrary checks packages of the standard library that a seed drew:
// their benchmarks, of which there are more than twenty, are sound.
func TestStandardLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the tests of several packages: run without -short")
	}
	out, err := exec.Command("go", "list", "-f", "{{if .TestGoFiles}}{{.ImportPath}}{{end}}",
		"bufio", "bytes", "compress/...", "container/...", "encoding/...", "hash/...", "html", "index/...", "regexp/...",
		"sort", "strconv", "strings", "text/...", "unicode/...").Output()
	root, rerr := exec.Command("go", "env", "GOROOT").Output()
	if err := errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	draw := rand.New(rand.NewPCG(17, 0))
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	r, err := Run(t.Context(), Options{Dir: filepath.Join(strings.TrimSpace(string(root)), "src"), Patterns: all[:6]})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d benchmarks of %v", r.Benchmarks, all[:6])
	if r.Benchmarks < 20 {
		t.Errorf("%d benchmarks, at least 20 are wanted", r.Benchmarks)
	}
	for _, f := range r.Findings {
		t.Errorf("%s:%d %s %s: %s", f.File, f.Line, f.Benchmark, f.Rule, f.Reason)
	}
}

// TestBadInput checks that what cannot be audited is named.
func TestBadInput(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nvar x int = \"\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var usage *beagle.UsageError
	if _, err := Run(t.Context(), Options{Dir: dir}); !errors.As(err, &usage) ||
		!strings.Contains(usage.What, "does not compile") {
		t.Errorf("a package that does not compile: %v", err)
	}
	if _, err := Run(t.Context(), Options{Dir: dir, Patterns: []string{"./none"}}); !errors.As(err, &usage) ||
		!strings.Contains(usage.What, "there is no package ./none") {
		t.Errorf("a package that is not there: %v", err)
	}
}

// TestSARIF checks the parts that code hosts read.
func TestSARIF(t *testing.T) {
	var text strings.Builder
	r := &Report{
		Findings: []Mistake{
			{Rule: "no-loop", Benchmark: "BenchmarkX", File: "a/x_test.go", Line: 3, Column: 1, Reason: "why", Remedy: "do"},
		},
	}
	if err := r.SARIF(&text, "v1"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatal(err)
	}
	run := got.Runs[0]
	at := run.Results[0].Locations[0].PhysicalLocation
	if got.Version != "2.1.0" || len(run.Tool.Driver.Rules) != len(Rules) || run.Results[0].RuleID != "no-loop" ||
		at.ArtifactLocation.URI != "a/x_test.go" || at.Region.StartLine != 3 {
		t.Errorf("%s", &text)
	}
}

// FuzzReadCode reads what no objdump prints.
func FuzzReadCode(f *testing.F) {
	f.Add("TEXT a/b.BenchmarkX.func1(SB) x.go\n  x_test.go:12\t0x1\t00\tCALL y(SB)\n")
	f.Add("TEXT \n  x.go:99999999999999999999 0x1 00 CALL")
	f.Fuzz(func(t *testing.T, text string) {
		for name, c := range readCode(strings.NewReader(text)) {
			if c == nil {
				t.Errorf("%q has no code", name)
			}
		}
	})
}

// TestReadCode reads two functions, one of them with a function within.
func TestReadCode(t *testing.T) {
	got := readCode(strings.NewReader("TEXT a.b/c.BenchmarkX(SB) /x_test.go\n  x_test.go:12\t0x1\t00\tCALL y(SB)\n" +
		"TEXT a.b/c.BenchmarkX.func1(SB) /x_test.go\n  w.go:7\t0x1\t00ff\tMOVQ AX, BX\n"))
	c := got["BenchmarkX"]
	if len(got) != 1 || !c.calls[place{"x_test.go", 12}] || !c.lines[place{"w.go", 7}] || c.calls[place{"w.go", 7}] {
		t.Errorf("%+v", got)
	}
	at := place{"x_test.go", 13}
	for _, k := range []struct {
		at   place
		from place
		gone bool
	}{{at, place{"w.go", 8}, true}, {at, place{"w.go", 5}, false}, {place{"x_test.go", 12}, place{"v.go", 1}, false}} {
		if c.isEliminated(k.at, k.from, 9) != k.gone {
			t.Errorf("%+v", k)
		}
	}
}
