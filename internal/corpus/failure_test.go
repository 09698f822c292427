package corpus

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// TestFailureTexts checks that what explains a failure is the first error of a build, the panic or
// the first failed test of a run: never whatever happened to be printed last.
func TestFailureTexts(t *testing.T) {
	noise := strings.Repeat("some log line\n", 100)
	exit := func(out string) sandbox.Result {
		return sandbox.Result{Ended: sandbox.Exited, Code: 1, Stdout: []byte(out)}
	}
	for _, c := range []struct{ name, got, starts, has, lacks string }{
		{"build", buildFailure(exit("# x/y [x/y.test]\na_test.go:3:4: undefined: foo\n" + noise)), "a_test.go:3:4: undefined: foo\n", " ...", "# x/y"},
		{"download", buildFailure(exit("go: downloading example.com/z v1.2.3\n" + noise)), "they need example.com/z v1.2.3", "go mod download", "log line"},
		{"no output", buildFailure(sandbox.Result{Ended: sandbox.Signaled, Code: -1}), "", "ended by: signal", ""},
		{"panic", testFailure(exit("--- FAIL: TestA (0.00s)\npanic: no such file [recovered]\n"+noise), "/m"), "failed (TestA); the calls", "panic: no such file", "---"},
		{"panic below",
			testFailure(exit(
				"--- FAIL: TestA (0.00s)\npanic: runtime error: index out of range [5] with length 3 [recovered, "+
					"repanicked]\n\ngoroutine 7 [running]:\n"+
					strings.Repeat(
						"testing.tRunner.func1.2({0x5, 0x6})\n\t/usr/go/src/testing/testing.go:1872 +0x237\n", 9)+
					"example.com/m/p.inner(...)\n\t/m/internal/beaglert/rt.go:3\nexample.com/m/p.inner(...)\n\t/m/p/a b.go:41\n\t/m/p/p_test.go:9 +0x1f\n"), "/m"), "failed (TestA); the calls", "length 3 [recovered, repanicked]\nat p/a b.go:41", "goroutine"},
		{"timeout", testFailure(exit("panic: test timed out after 29s\n\trunning tests:\n\t\tTestSlow/case_1 (29s)\n\ngoroutine 1 [running]:\n"), "/m"), "failed (TestSlow/case_1); ", "timed out after 29s", "goroutine"},
		{"many", testFailure(exit("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\n        a_test.go:3: no\n"+strings.Repeat("--- FAIL: TestB (0.00s)\n", 2)+"--- FAIL: TestC (0s)\n--- FAIL: TestD (0s)\n--- FAIL: TestE (0s)\n"), "/m"), "failed (TestA/x, TestB, TestC, TestD and 1 more); ", "a_test.go:3: no", ""},
		{"failed test", testFailure(exit(noise+"--- FAIL: TestAllocs (0.00s)\n    want zero\n"+noise), "/m"), "failed (TestAllocs); the calls", "want zero", ""},
		{"slow", testFailure(sandbox.Result{Ended: sandbox.Wall, Code: -1, Wall: 30 * time.Second, Stdout: []byte(noise)}, "/m"), "took longer than 30s", "are kept", "log line"},
		{"exit", testFailure(exit(noise+"bye"), "/m"), "failed; the calls", "bye", ""},
	} {
		if !strings.HasPrefix(c.got, c.starts) || !strings.Contains(c.got, c.has) ||
			c.lacks != "" && strings.Contains(c.got, c.lacks) || len(c.got) > 450 {
			t.Errorf("%s: %q", c.name, c.got)
		}
	}
}

// TestFruitlessSuites checks that suites of packages that do not reach the target are given up
// after a few.
func TestFruitlessSuites(t *testing.T) {
	records := []int{0, 0, 5, 0, 0, 0, 0, 9, 9}
	var list []*gotool.Listed
	for range records {
		list = append(list, &gotool.Listed{ImportPath: "p"})
	}
	c := &capturer{}
	c.defaults()
	ran := 0
	err := c.runUntilEnough(list, func(i int, _ *gotool.Listed) error {
		ran++
		c.records += records[i]
		return nil
	})
	if err != nil || ran != 7 || c.records != 5 || len(c.out.Unasked) != 2 {
		t.Errorf("ran %d suites, %d records, unasked %q, %v; want 7, 5 and two", ran, c.records, c.out.Unasked, err)
	}
}

// TestLighter: the largest records go until half of the bytes stay, the order stays,
// and one record always does.
func TestLighter(t *testing.T) {
	var list []beagle.Record
	for _, n := range []int{3, 100, 1, 50, 40} {
		list = append(list, beagle.Record{Args: []byte(strings.Repeat("x", n))})
	}
	var kept []int
	for _, r := range lighter(list) {
		kept = append(kept, len(r.Args))
	}
	if want := []int{3, 1, 50, 40}; !slices.Equal(kept, want) {
		t.Errorf("kept records of %v bytes, want %v", kept, want)
	}
	if got := lighter(list[1:2]); len(got) != 1 {
		t.Errorf("%d of one record kept", len(got))
	}
}
