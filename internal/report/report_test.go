package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

var update = flag.Bool("update", false, "write the golden files")

func sample() *beagle.Result {
	steps := []beagle.Step{
		{Mutator: "byte-table", Site: "isTagChar", Class: beagle.E0},
		{Mutator: "unsigned-index", Site: "for loop over tag", Class: beagle.E0},
	}
	ratio := beagle.Ratio{Point: 2.5, Low: 2.4, High: 2.6}
	return &beagle.Result{
		Run: "0123456789abcdef",
		Target: beagle.TargetRef{
			Spec:      "example.com/tags.valid",
			Signature: "func valid(tag string) bool",
			File:      "tags.go",
			Line:      12,
		},
		Outcome: beagle.Improved, Why: "2.40 times as fast at least, on 8,192 inputs.",
		Best:     beagle.Version{ID: "feedfacefeedface", Ratio: ratio, Nanos: 20, Steps: steps},
		Baseline: beagle.Resources{Nanos: 50},
		Measurement: &beagle.Measurement{Train: ratio, Holdout: &ratio, Corrected: ratio, Tried: 3,
			Layouts: []beagle.Layout{{Seed: 1, Ratio: ratio}}, Faster: true,
			InputClasses: []beagle.InputClassRatio{
				{Name: "tag: non-ASCII", Share: 0.03, Ratio: beagle.Ratio{Point: 0.9, Low: 0.85, High: 0.95}},
				{Name: "tag: ASCII", Share: 0.97, Ratio: ratio},
			}},
		Models: &beagle.ModelSummary{Calls: 14, Tokens: 61234, Dollars: 0.1234, Redacted: true,
			Authors: []beagle.AuthorSum{
				{Author: "a-model", Asked: 15, Unheard: 1, Useless: 5, Candidates: 9, Behaving: 7, Earned: 0.55, Dollars: 0.1234,
					Seconds: 98.7},
				{Author: "rules", Asked: 40, Candidates: 40, Behaving: 38, Earned: 0.4, Seconds: 4.2}}},
		Profile: []beagle.LineShare{{Line: 12, Share: 0.61, Text: "if a < b && ok(s[i]) {"},
			{Line: 11, Share: 0.2, Text: "for i := range s {"}},
		Patch:      "--- a/tags.go\n+++ b/tags.go\n@@ -1 +1 @@\n-if a < b && \"<script>\" == s {\n+if ok[b] {\n",
		Candidates: 3, Statuses: map[beagle.Status]int{beagle.Equal: 2, beagle.Wrong: 1},
		Verification: beagle.Verification{
			Checks:  []beagle.CheckResult{{Name: "replay", Passed: true, Cases: 8192, Millis: 12}},
			Cases:   8192,
			NotDone: []string{"inputs longer than 300 bytes"},
		},
		Rejected: []string{"dddddddd: differs on \"é\""},
		Corpus: beagle.CorpusSummary{
			Train:   6500,
			Holdout: 1692,
			Sources: []string{"9,000 calls from go test ./tags"},
			Facets: beagle.Facets{
				Params: []beagle.ParamFacet{
					{Name: "tag", Distinct: 8192, ASCII: 0.97, Top: []beagle.TopValue{{Value: `"a|b"`, Share: 0.01}}},
				},
			},
		},
		Search: beagle.SearchSummary{Strategy: "islands", Seed: 1, Islands: 4, Generations: 1, Stopped: "budget"},
		Lineage: []beagle.LineageStep{
			{Step: steps[0], Why: "Asks a table.", Ratio: beagle.Ratio{Point: 1.9, Low: 1.8, High: 2}, Gain: beagle.Ratio{Point: 1.9, Low: 1.8, High: 2}}, {Step: steps[1], Why: "Drops a check.", Ratio: ratio, Gain: beagle.Ratio{Point: 1.3, Low: 1.2, High: 1.4}},
		},
		Advice: []beagle.Advice{
			{Name: "lock-in-loop", Line: 14, Site: "mu.Lock() in a loop", Doc: "Lock once around the loop."},
		},
		Attempts: []beagle.Attempt{
			{Candidate: "aaaaaaaaaaaa", Steps: steps[:1], Status: beagle.Equal, Screen: &beagle.Ratio{Point: 1.9, Low: 1.8, High: 2}},
			{Candidate: "bbbbbbbbbbbb", Steps: steps[1:], Status: beagle.Wrong, Stage: "replay", Reason: "differs on \"<b>\""},
			{Candidate: "cccccccccccc", Steps: steps, Status: beagle.Equal, Screen: &ratio},
		},
		Machine: beagle.Machine{OS: "linux", Arch: "amd64", CPU: "a processor", Cores: 2, Go: "go1.26"},
		Judge: &beagle.ErrorRates{
			Machine: beagle.Machine{OS: "linux", Arch: "amd64", CPU: "another processor", Cores: 4, Go: "go1.25"},
			Rule:    "r", Seconds: 20, MinGain: 0.01,
			FalseWins: beagle.Rate{Hits: 1, Trials: 200, Low: 0.0001, High: 0.028},
			FoundTwo:  beagle.Rate{Hits: 70, Trials: 100, Low: 0.6, High: 0.79},
			FoundFive: beagle.Rate{Hits: 99, Trials: 100, Low: 0.946, High: 0.9997}, Loaded: 200, Elsewhere: true,
		},
		Replay: "beagle evolve --seed=1 ./tags.valid",
	}
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"report.md":   func(b *bytes.Buffer) error { return Markdown(b, sample()) },
		"report.html": func(b *bytes.Buffer) error { return HTML(b, sample()) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := "testdata/" + name
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs from the golden file; look at the change, then run go test ./internal/report -update",
				name)
		}
	}
}

// TestHTMLEscapes holds the page to showing what candidates and inputs contain
// as text.
func TestHTMLEscapes(t *testing.T) {
	var page bytes.Buffer
	if err := HTML(&page, sample()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script>") {
		t.Error("the page contains a script of the diff")
	}
	if strings.Contains(page.String(), "<b>\"") || !strings.Contains(page.String(), "&lt;b&gt;") {
		t.Error("a rejection's reason is not escaped")
	}
}

func TestGeneratedOnlySaysSoFirst(t *testing.T) {
	r := sample()
	r.Corpus.GeneratedOnly = true
	var text bytes.Buffer
	if err := Markdown(&text, r); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(text.String(), "\n")
	if !strings.Contains(first, "generated inputs only") {
		t.Errorf("the first line is %q", first)
	}
}

func TestFenceCannotBeClosed(t *testing.T) {
	if got := fence("a ``` b", "```"); got != "````" {
		t.Errorf("fence is %q", got)
	}
	var m markdown
	m.table(columns("line"), [][]cell{{{code("a ` | b")}}})
	if got, want := m.String(), "| line |\n|---|\n| ``a ` \\| b`` |\n\n"; got != want {
		t.Errorf("a line of code in a cell is %q, want %q", got, want)
	}
}

// TestMarkdownShowsTexts checks that Markdown shows texts as they are, on one line each.
func TestMarkdownShowsTexts(t *testing.T) {
	for _, c := range []struct {
		text span
		want string
	}{
		{say("got <nil>, want <b>\n# no heading\r\n\n- nor a list"), `got \<nil>, want \<b> # no heading  - nor a list`},
		{say("%s", `a*b*c, "\"\n\\", &amp; x && y < 1<<16`), `a\*b\*c, "\\"\n\\\\", \&amp; x && y < 1<<16`},
		{say("```\ncode"), "\\`\\`\\` code"},
		{say("run `x *y` twice, not `"), "run \\`x \\*y\\` twice, not \\`"},
		{say("run `x *y` twice, *not*"), "run `x *y` twice, \\*not\\*"},
		{strong("2 * 3"), `**2 \* 3**`},
		{code("`a` | <b>\nc*d*"), "`` `a` | <b> c*d* ``"},
	} {
		var m markdown
		m.list(false, []span{c.text})
		if got, want := m.String(), "- "+c.want+"\n\n"; got != want {
			t.Errorf("%q is %q, want %q", c.text.text, got, want)
		}
	}
}

func TestDigits(t *testing.T) {
	for f, want := range map[float64]string{1.234: "1.23", 12.34: "12.3", 1234.5: "1234"} {
		if got := Digits(f); got != want {
			t.Errorf("Digits(%v) = %s, want %s", f, got, want)
		}
	}
}

// TestSaysWhatIsNotItsOwn: the report marks results of an earlier run, and error rates that this
// machine did not measure.
func TestSaysWhatIsNotItsOwn(t *testing.T) {
	said := func(r *beagle.Result, want bool, texts ...string) {
		t.Helper()
		var md, html bytes.Buffer
		if err := errors.Join(Markdown(&md, r), HTML(&html, r)); err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(md.String(), text) != want || strings.Contains(html.String(), text) != want {
				t.Errorf("%q is in the reports: want %v", text, want)
			}
		}
	}
	measured, verified := "those of run aaaa, on 2026-08-01 12:30:59 UTC", "by run bbbb, on 2026-08-02 00:00:00 UTC"
	const unknown, store, again = "it was not measured for the rule", "7 verdicts were in the store",
		"unless --anew is given"
	r := sample()
	said(r, false, measured, verified, unknown, store)
	said(r, true, again)
	r.MeasuredIn, r.VerifiedIn = &beagle.Origin{Run: "aaaa", At: "2026-08-01 12:30:59"}, &beagle.Origin{
		Run: "bbbb",
		At:  "2026-08-02 00:00:00",
	}
	r.Judge, r.Split.Cached = nil, 7
	said(r, true, measured, verified, unknown, store, "beagle rates")
	r.Replay = "beagle evolve --anew=true ./tags.valid"
	said(r, false, again)
}

// TestCount checks that a mean over a sample has the digits that it means.
func TestCount(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 0.001: "<0.01", 0.0372: "0.04", 1: "1", 1.0399: "1.04", 2.5: "2.5",
		9.999: "10", 17.2371: "17.2", 20: "20", 100: "100", 335.61: "336"} {
		if got := Count(f); got != want {
			t.Errorf("Count(%g) = %s, want %s", f, got, want)
		}
	}
}
