package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/suite/commits/change"
)

// TestReport checks that a wrong verdict shows its call, that a pipe does not break the table, and
// that the totals count each half alone.
func TestReport(t *testing.T) {
	wrong := &beagle.Verdict{Status: beagle.Wrong, Stage: "fuzz", Reason: "differs: a|b\nsecond line",
		Counterexample: &beagle.Counterexample{Go: `F("x|")`, Want: "1", Got: "2"}}
	all := []Outcome{
		{Entry: change.Entry{Module: "github.com/a/b", Function: "F", Kind: "table"}, Half: "sealed", Strict: wrong,
			Contract: &beagle.Verdict{Status: beagle.Equal}},
		{Entry: change.Entry{Module: "github.com/a/b", Function: "G", Kind: "word"}, Half: "development", Problem: "no tests"},
	}
	var b strings.Builder
	for i := range all {
		row(&b, &all[i])
	}
	counterexamples(&b, all)
	totals(&b, "sealed", all)
	totals(&b, "development", all)
	for _, want := range []string{
		"| a/b | `F` | table | wrong | fuzz | F(\"x\\|\"): before 1, after 2 | equal |\n",
		"| a/b | `G` | word | not judged |  | no tests |  |\n",
		"- `github.com/a/b F`: `F(\"x\\|\")`\n  before: `1`\n  after: `2`\n",
		"sealed half: 1 entries; strict: 1 wrong; under their contracts: 1 equal; 1 of 1 wrong with a counterexample\n",
		"development half: 1 entries; strict: 1 not judged; under their contracts: 1 not judged; 0 of 0 wrong",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
}

// TestVerify checks that the judge's verdict is read, that an error of beagle is reported, and that
// the contract's flags are given only for the second verdict.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "beagle")
	script := "#!/bin/sh\necho \"$@\" >>" + dir + "/args\n" +
		"case \"$*\" in *Bad*) echo 'beagle verify: no such thing' >&2; exit 2;; esac\n" +
		"echo '{\"status\":\"equal\",\"stage\":\"measure\"}'\nexit 1\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	j := &judge{beagle: fake, dir: dir, budget: []string{"--fuzz", "1s"}, limit: 1 << 40}
	e := &change.Entry{Function: "F", Requires: "n > 0", Ignore: []string{"nil-empty", "capacity"}}
	for _, contract := range []bool{false, true} {
		v, err := j.verify(t.Context(), dir, "c.go", e, contract)
		if err != nil || v.Status != beagle.Equal {
			t.Fatal(v, err)
		}
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(args), "\n")
	const flags = "--requires n > 0 --ignore nil-empty,capacity F c.go"
	if strings.Contains(lines[0], "--requires") || !strings.Contains(lines[1], flags) {
		t.Errorf("beagle got %q", lines)
	}
	_, err = j.verify(t.Context(), dir, "c.go", &change.Entry{Function: "Bad"}, false)
	if err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("error %v, want beagle's own", err)
	}
}

// TestRun downloads the modules and judges the entries that BEAGLE_COMMITS
// matches, as a regular expression. It takes minutes an entry.
func TestRun(t *testing.T) {
	pattern := os.Getenv("BEAGLE_COMMITS")
	if pattern == "" {
		t.Skip("BEAGLE_COMMITS is empty: set it to a regular expression of entries")
	}
	var out, progress strings.Builder
	o := options{dir: t.TempDir(), pattern: pattern, half: "all", mode: "full",
		budget: "--measure 2s --fuzz 1s --force", limit: 10 * time.Minute}
	if err := run(t.Context(), &o, &out, &progress); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if strings.Contains(out.String(), "not judged") {
		t.Error("an entry could not be judged")
	}
}
