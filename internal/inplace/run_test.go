package inplace

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/sandbox"
)

const shown = "\x16=== RUN   TestA\nhello 12ms at 0xc000123\n\x16=== RUN   TestA/one\n" +
	"    \x16--- PASS: TestA/one (0.00s)\n" +
	"\x16--- PASS: TestA (1.25s)\n\x16=== RUN   ExampleB\n\x16--- PASS: ExampleB (0.00s)\n" +
	"BenchmarkC/size=1-2 \t     100\t        12.5 ns/op\nPASS\n"

func parsed(out string) (tests map[string]outcome, leaves []string) {
	r := &ran{}
	r.parse([]byte(out))
	return r.tests, r.leaves
}

func TestParseTests(t *testing.T) {
	tests, leaves := parsed(shown)
	a := tests["TestA"]
	if len(tests) != 3 || a.Status != "PASS" || a.seconds != 1.25 || a.Output != "hello * at *\n" {
		t.Errorf("tests: %+v", tests)
	}
	if len(leaves) != 1 || leaves[0] != "BenchmarkC/size=1" {
		t.Errorf("benchmarks: %q", leaves)
	}
}

// TestParseTestsOfAll: how all tests together ended is not the last one's output.
func TestParseTestsOfAll(t *testing.T) {
	for _, all := range []string{"\x16PASS\n", "\x16FAIL\n"} {
		tests, _ := parsed("\x16=== RUN   FuzzZ\nlast\n\x16--- PASS: FuzzZ (0.00s)\n" + all)
		if got := tests["FuzzZ"].Output; got != "last\n" {
			t.Errorf("behind %q the output is %q", all, got)
		}
	}
}

// TestParseTestsBetween: what a test prints does not depend on whether another one follows.
func TestParseTestsBetween(t *testing.T) {
	const first = "\x16=== RUN   TestA\nhello\n\x16--- PASS: TestA (0.00s)\n"
	followed, _ := parsed(first + "\x16=== NAME  \n\x16=== RUN   TestB\n\x16--- PASS: TestB (0.00s)\n")
	last, _ := parsed(first + "\x16=== NAME   \n\x16PASS\n")
	if a, b := followed["TestA"].Output, last["TestA"].Output; a != b || a != "hello\n" {
		t.Errorf("followed by another test %q, as the last one %q", a, b)
	}
}

func FuzzParseTests(f *testing.F) {
	f.Add([]byte(shown))
	f.Add([]byte("\x16--- FAIL: "))
	f.Fuzz(func(t *testing.T, out []byte) {
		tests, leaves := parsed(string(out))
		for name := range tests {
			if name == "" || strings.ContainsAny(name, " \n") {
				t.Errorf("a test with the name %q", name)
			}
		}
		for _, l := range leaves {
			if !strings.HasPrefix(l, "Benchmark") {
				t.Errorf("a benchmark with the name %q", l)
			}
		}
		parseReport(out)
	})
}

// TestUnlike reads how runs of a version ended beside the original's.
func TestUnlike(t *testing.T) {
	s := &suite{tests: []string{"TestA"},
		wanted: map[string]outcome{"TestA": {Status: "PASS", Output: "x\n"}, "TestA/one": {Status: "PASS"}}}
	ok, failed := sandbox.Result{Ended: sandbox.Exited}, sandbox.Result{Ended: sandbox.Exited, Code: 1}
	pass := outcome{Status: "PASS", Output: "x\n"}
	for _, x := range []struct {
		name string
		r    ran
		kind string
	}{
		{"the same", ran{Result: ok, tests: map[string]outcome{"TestA": pass, "TestA/one": {Status: "PASS"}}}, ""},
		{"a test fails", ran{Result: failed, tests: map[string]outcome{"TestA": {Status: "FAIL"}}}, "test"},
		{"other output", ran{Result: ok, tests: map[string]outcome{"TestA": {Status: "PASS", Output: "y\n"},
			"TestA/one": {Status: "PASS"}}}, "test"},
		{"a subtest is missing", ran{Result: ok, tests: map[string]outcome{"TestA": pass}}, "test"},
		{"a test is skipped", ran{Result: ok, tests: map[string]outcome{"TestA": {Status: "SKIP"}}}, "test"},
		{"a test that is left out fails", ran{Result: failed, tests: map[string]outcome{"TestA": pass,
			"TestA/one": {Status: "PASS"}, "TestFlaky": {Status: "FAIL"}}}, ""},
		{"it crashes", ran{Result: sandbox.Result{Ended: sandbox.Exited, Code: 2}}, "crash"},
		{"it hangs", ran{Result: sandbox.Result{Ended: sandbox.Wall, Code: -1}}, "hang"},
	} {
		if kind, why := s.endedOtherwise(&x.r, s.tests); kind != x.kind {
			t.Errorf("%s: %q (%s), want %q", x.name, kind, why, x.kind)
		}
	}
}
