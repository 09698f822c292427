package verify

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sampletest"
)

var asQuick = flag.Bool("plants.quick", false, "give the planted versions the exhaustion of the quick check")

// inputsDrawn is the number of functions of testdata/inputs that a test tries.
const inputsDrawn = 1

// plantsOf reads one original of testdata/inputs with its planted versions. The first line of a
// version says "wrong" or "good".
func plantsOf(t *testing.T, path string) *catalogue {
	t.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/plants\n\ngo 1.24\n")
	c := &catalogue{dir: dir}
	spec, kind, _ := strings.Cut(strings.TrimSpace(string(ar.Comment)), " ")
	lines := ""
	for _, f := range ar.Files {
		switch f.Name {
		case "original.go":
			put(t, filepath.Join(dir, "p", f.Name), string(f.Data))
		case "corpus.jsonl":
			lines = string(f.Data)
		default:
			head, _, _ := strings.Cut(strings.TrimPrefix(string(f.Data), "// "), "\n")
			check, says, _ := strings.Cut(head, ":")
			c.cases = append(c.cases, entry{f.Name, string(f.Data), check, strings.TrimSpace(says)})
		}
	}
	c.env = environment(t, dir, "./p."+spec)
	c.corpus = &beagle.Corpus{Target: c.env.Unit.Target.ID()}
	for line := range strings.Lines(lines) {
		r := record(t, strings.TrimSpace(line), rt.KindInt)
		if kind == "bytes" { // its texts are byte slices
			v, err := rt.ParseValue(r.Args)
			if err != nil {
				t.Fatal(err)
			}
			for i := range v.Elems {
				v.Elems[i].Kind = rt.KindBytes
			}
			r.Args = v.Append(nil)
		}
		c.corpus.Train = append(c.corpus.Train, r)
	}
	return c
}

// eachPhase is the number of cases of a phase that a quiet machine tries within a phase's share of
// the processor time.
const eachPhase = 250_000

// exhaustAlone runs only the exhaustion on each candidate. It returns the phase that refused it, or
// "". On a crowded machine a case takes several times as much processor time as on a quiet one, so
// a wrong version that is not met gets a second look. The number of its cases bounds that: its time
// is many times what they need.
func (c *catalogue) exhaustAlone(t *testing.T) map[string]string {
	t.Helper()
	var cands []beagle.Candidate
	for _, e := range c.cases {
		cands = append(cands, e.candidate())
	}
	budget := Budget{}.orDefaults().Exhaust
	if *asQuick {
		budget = quickExhaust
	}
	bin, guilty, err := Build(t.Context(), c.env, cands, harness.Link{})
	if err != nil {
		t.Fatal(err)
	}
	defer bin.Remove()
	out := map[string]string{}
	for i, e := range c.cases {
		if f := guilty[i]; f != nil {
			t.Fatalf("%s: %s", e.name, f.Reason)
		}
		j := &Job{Env: c.env, Candidate: cands[i], Corpus: c.corpus, bin: bin, idx: i + 1,
			Budget: Budget{}.orDefaults(), notes: notes{verdict: &beagle.Verdict{}, quick: *asQuick}}
		if err := j.prepare(); err != nil {
			t.Fatal(err)
		}
		met := j.meets(t, e.name, budget, 0)
		if met == "" && e.check == "wrong" && !*asQuick {
			met = j.meets(t, e.name, 20*budget, eachPhase)
		}
		if met != "" {
			out[e.name] = met
		}
	}
	return out
}

// meets returns what the exhaustion refuses the candidate for, or "". each bounds the cases of a
// phase, unless it is 0.
func (j *Job) meets(t *testing.T, name string, budget time.Duration, each int) string {
	t.Helper()
	x, err := j.exhaustRequest(t.Context(), budget)
	if err != nil {
		t.Fatal(err)
	}
	x.Each = each
	// The budget is processor time, and a loaded machine may take long to grant it.
	reply, found, err := j.replay(t.Context(),
		&rt.Replay{Variant: j.idx, Records: []string{"quick"}, Max: 1, Then: x}, 1, 20*time.Minute)
	switch {
	case err != nil:
		t.Fatal(err)
	case found != nil:
		return found.Reason
	case reply.Diff != nil:
		return "a record"
	}
	t.Logf("%-18s %8d cases in %6.1f ms", name, reply.Then.Cases, reply.Then.Millis)
	if os.Getenv("BEAGLE_PLANTS") != "" {
		for _, p := range reply.Then.Phases {
			t.Logf("%-18s %-10s %8d cases %5d ms done %v %s", name, p.Name, p.Cases, p.Time/1e6, p.Done, p.Note)
		}
	}
	if d := reply.Then.Diff; d != nil {
		return fmt.Sprintf("%s: %.80s", rt.PhaseOf(d.Case), strings.Join(d.Call, ", "))
	}
	return ""
}

// TestInputsMeetPlants checks that the exhaustion alone finds every planted wrong version and
// refuses no good one. Each wrong version is wrong on inputs of one kind. A run tries the versions
// of a few functions, drawn anew each time.
func TestInputsMeetPlants(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "inputs", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, path := range sampletest.Of(t, files, inputsDrawn) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			c := plantsOf(t, path)
			met := c.exhaustAlone(t)
			for _, e := range c.cases {
				t.Logf("%-5s %-22s met by: %s", e.check, e.name, met[e.name])
				switch {
				case e.check == "wrong" && met[e.name] == "":
					t.Errorf("%s: no input met it: %s", e.name, e.says)
				case e.check == "good" && met[e.name] != "":
					t.Errorf("%s: refused: %s", e.name, met[e.name])
				}
			}
		})
	}
}

// carryless tests tags by words of eight bytes. The last word takes no carry from the word before,
// so the test misses a doubled underscore across that border.
const carryless = `
func isNormalizedASCIITag(tag string) bool {
	n := len(tag)
	if n == 0 || n > maxTagLength || !isValidASCIIStartChar(tag[0]) || tag[n-1] == '_' {
		return false
	}
	before := false
	for at := 0; at < n; at += 8 {
		end := min(at+8, n)
		if end == n {
			before = false
		}
		for _, c := range []byte(tag[at:end]) {
			if c != '_' && !isValidASCIITagChar(c) || c == '_' && before {
				return false
			}
			before = c == '_'
		}
	}
	return true
}
`

// TestPairAcrossTheLastBorder checks that inputs of each length hold a doubled underscore, in a
// task of the suite.
func TestPairAcrossTheLastBorder(t *testing.T) {
	c := &catalogue{env: environment(t, filepath.Join("..", ".."), "./suite/tasks/normalizetag.NormalizeTag")}
	src := c.env.Unit.Target.Source
	from, to := strings.Index(src, "func isNormalizedASCIITag"), strings.Index(src, "func isValidASCIIStartChar")
	if from < 0 || to < from {
		t.Fatal("the task has another form")
	}
	c.cases = []entry{
		{name: "carryless", source: src[:from] + strings.TrimSpace(carryless) + "\n\n" + src[to:], check: "wrong"},
	}
	c.corpus = &beagle.Corpus{Target: c.env.Unit.Target.ID()}
	for _, tag := range []string{"env:prod", "service:web-1", "Some Tag", "abcdefghijklmnop"} {
		c.corpus.Train = append(c.corpus.Train, record(t, `["`+tag+`"]`, rt.KindInt))
	}
	if met := c.exhaustAlone(t); met["carryless"] == "" {
		t.Error("no input met it")
	} else {
		t.Log(met["carryless"])
	}
}
