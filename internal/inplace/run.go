package inplace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// An outcome is the end of one test.
type outcome struct {
	Status string // "PASS", "FAIL" or "SKIP"; "" when it did not end
	Output string // its output, without times and addresses

	seconds float64 // that it took
	paused  bool    // it waited for its turn beside others, and did not go on
}

// A ran is one run of a test binary.
type ran struct {
	sandbox.Result
	tests  map[string]outcome // by name, subtests too
	leaves []string           // benchmarks that printed a result
	lines  []live.Line        // of the report

	current  string // the test or benchmark that printed last
	whole    bool   // the program came to the end of its tests
	failfast bool   // it was to end at the first failure

	iterations map[string]int64 // of the last round, by benchmark
}

// A job is one run of a test binary.
type job struct {
	suite   int
	plan    live.Plan
	tests   []string // by name; nil for none
	all     bool     // every test
	skip    []string // but not these tests or benchmarks
	bench   string   // the pattern of benchmarks; "" for none
	time    string   // -test.benchtime
	wall    time.Duration
	threads int    // GOMAXPROCS; 0 for all
	cpu     []int  // processors to run on
	profile string // host path for a CPU profile
	share   string // directory that processes share

	failfast bool // start no test after a failure
}

// args returns the arguments of the test binary.
func (j *job) args() []string {
	run := "^$"
	switch {
	case j.all:
		run = "."
	case len(j.tests) > 0:
		run = namePattern(j.tests)
	}
	args := []string{"-test.run=" + run, "-test.v=test2json", "-test.count=1", "-test.parallel=1",
		"-test.timeout=" + j.wall.String()}
	if j.bench != "" {
		args = append(args, "-test.bench="+j.bench, "-test.benchtime="+j.time)
	}
	if len(j.skip) > 0 {
		args = append(args, "-test.skip="+namePattern(j.skip))
	}
	if j.failfast {
		args = append(args, "-test.failfast")
	}
	if j.threads > 0 {
		args = append(args, fmt.Sprintf("-test.cpu=%d", j.threads))
	}
	if j.profile != "" {
		args = append(args, "-test.cpuprofile=cpu.prof")
	}
	return args
}

// namePattern returns a pattern for whole names of tests.
func namePattern(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// exactly returns a pattern for one benchmark, with its parents.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, s := range parts {
		parts[i] = "^" + regexp.QuoteMeta(s) + "$"
	}
	return strings.Join(parts, "/")
}

const reportFile = "report.jsonl"

// run runs a suite's binary behind the walls.
func (p *programs) run(ctx context.Context, g *Program, j job) (*ran, error) {
	dir, err := os.MkdirTemp(p.dir, "run")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// The test binary reads its plan from the environment, and writes its report to a file.
	report := filepath.Join(dir, reportFile)
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		return nil, err
	}
	j.plan.Report, j.plan.Package = report, p.suites[j.suite].pkg.ImportPath
	plan, err := json.Marshal(j.plan)
	if err != nil {
		return nil, err
	}
	env := []string{live.PlanEnv + "=" + string(plan), "GOTRACEBACK=single"}
	if p.profile == sandbox.Test {
		env = append(p.tools.Env(), env...)
	}
	args := j.args()
	if j.profile != "" {
		args = append(args, "-test.outputdir="+dir)
	}
	write := []string{dir}
	if j.share != "" {
		write = append(write, j.share)
	}
	r, err := p.box.Run(ctx, sandbox.Command{
		Profile: p.walls(g), Path: g.path(&j), Args: args, Dir: p.suites[j.suite].pkg.Dir, Env: env,
		Read: p.read, Write: write, CPUs: j.cpu,
		Limits: sandbox.Limits{Wall: j.wall + 2*time.Second, CPU: -1, Data: memory(g), Output: 64 << 20},
	})
	if err == nil && r.Ended == sandbox.Canceled {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	// Keep the profile, and read the output and the report.
	if j.profile != "" {
		if text, err := os.ReadFile(filepath.Join(dir, "cpu.prof")); err == nil {
			if err := os.WriteFile(j.profile, text, 0o600); err != nil {
				return nil, err
			}
		}
	}
	out := &ran{Result: r, failfast: j.failfast}
	out.parse(r.Stdout)
	out.iterations = parseIterations(r.Stdout)
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	out.lines = parseReport(text)
	return out, nil
}

// memory returns the limit for a program's private memory: tests may need more than a harness, and
// the race detector reserves address space without end.
func memory(g *Program) int64 {
	if g.link.Race {
		return -1
	}
	return 4 << 30
}

// parseReport reads the lines that package live wrote. The last may be cut off.
func parseReport(text []byte) (lines []live.Line) {
	for line := range bytes.Lines(text) {
		var l live.Line
		if json.Unmarshal(line, &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines
}

var (
	framing = regexp.MustCompile(
		`^\s*(=== (?:RUN|NAME|CONT|PAUSE)|--- (?:PASS|FAIL|SKIP|BENCH):)\s+(\S+)(?: \((\d+\.\d+)s\))?`)
	benchLine = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+(\d+)\s+[\d.]+ ns/op`)
	// text that differs from run to run
	volatile = regexp.MustCompile(`\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?|` +
		`\(?\b\d+(?:\.\d+)?(?:ns|µs|ms|s)\b\)?|0x[0-9a-f]+|goroutine \d+`)
)

// parse reads the output of a test binary in the form for test2json.
func (r *ran) parse(out []byte) {
	r.tests = map[string]outcome{}
	output, paused := map[string]*strings.Builder{}, map[string]bool{}
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		marked, was := "", false
		if i := strings.IndexByte(line, 0x16); i >= 0 {
			marked, was = line[i+1:], true
		}
		if m := framing.FindStringSubmatch(marked); was && m != nil {
			r.current = m[2]
			paused[r.current] = strings.HasSuffix(m[1], "PAUSE")
			if output[r.current] == nil {
				output[r.current] = new(strings.Builder)
			}
			if strings.HasPrefix(m[1], "---") {
				seconds, _ := strconv.ParseFloat(m[3], 64) // an example's line has no time
				r.tests[r.current] = outcome{Status: strings.Trim(m[1], "-: "), seconds: seconds}
			}
			continue
		}
		if was && (marked == "PASS" || marked == "FAIL") {
			r.whole = true
			continue // of all tests together
		}
		if was && strings.TrimSpace(marked) == "=== NAME" {
			continue // between two tests, and otherwise after the last one
		}
		if m := benchLine.FindStringSubmatch(line); m != nil {
			if !slices.Contains(r.leaves, m[1]) {
				r.leaves = append(r.leaves, m[1])
			}
			continue
		}
		if b := output[r.current]; b != nil {
			b.WriteString(volatile.ReplaceAllString(line, "*") + "\n")
		}
	}
	for name, b := range output {
		o := r.tests[name]
		o.Output, o.paused = b.String(), paused[name]
		r.tests[name] = o
	}
}

// timedOut reports whether a run used its time up.
func (r *ran) timedOut() bool {
	return r.Ended == sandbox.Wall || strings.Contains(string(r.Stdout)+string(r.Stderr), "panic: test timed out")
}

// parseIterations reads how often each benchmark did its work in its last round.
func parseIterations(out []byte) map[string]int64 {
	found := map[string]int64{}
	for line := range bytes.Lines(out) {
		if m := benchLine.FindSubmatch(bytes.TrimLeft(line, "\x16")); m != nil {
			if n, err := strconv.ParseInt(string(m[2]), 10, 64); err == nil {
				found[string(m[1])] = n
			}
		}
	}
	return found
}

// withoutTimes returns a program's output without times and addresses.
func withoutTimes(text []byte) string { return volatile.ReplaceAllString(string(text), "*") }

// topTest returns the test that a subtest belongs to.
func topTest(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// walls returns those behind which a program runs: the race detector starts it anew and reads
// /proc.
func (p *programs) walls(g *Program) sandbox.Profile {
	if g.link.Race && p.profile == sandbox.Run {
		return sandbox.Fuzz
	}
	return p.profile
}
