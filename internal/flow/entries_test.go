package flow

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/store"
)

// codec is a module with two functions that belong together. One record of a call of Encode is
// nothing that its tests ask for.
var codec = map[string]string{
	"go.mod": "module example.com/codec\n\ngo 1.24\n",
	"codec.go": `package codec

// Encode writes a percent sign in front of each one.
func Encode(s string) string {
	out := ""
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			out += "%"
		}
		out += s[i : i+1]
	}
	return out
}

// Decode takes what Encode wrote apart.
func Decode(s string) string {
	out := ""
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+1 < len(s) {
			i++
		}
		out += s[i : i+1]
	}
	return out
}

// Paired reports whether percent signs come in pairs.
func Paired(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if i++; i == len(s) || s[i] != '%' {
				return false
			}
		}
	}
	return true
}

// A Count counts.
type Count struct{ n int }

// Add adds.
func (c *Count) Add(n int) { c.n += n }
`,
	"codec_test.go": `package codec

import "testing"

func TestRound(t *testing.T) {
	for _, s := range []string{"", "a", "50% of it", "%%", "a longer text"} {
		if got := Decode(Encode(s)); got != s {
			t.Errorf("%q is %q", s, got)
		}
	}
	if got := Encode("5%"); got != "5%%" {
		t.Error(got)
	}
}
`,
	"calls.jsonl": `{"args": ["7%"], "weight": 3}` + "\n" + `{"args": ["a much longer text, 100% of which is new"]}` +
		"\n" + `{"args": ["%"]}` + "\n",
}

// codecSpec returns the spec of a run on both functions that measures nothing.
func codecSpec(t *testing.T) Spec {
	t.Helper()
	spec := Defaults()
	spec.Dir, spec.Target, spec.NoMeasure, spec.Strict = t.TempDir(), "./.{Encode,Decode}", true, true
	spec.Fuzz = 200 * time.Millisecond
	for name, text := range codec {
		if err := os.WriteFile(filepath.Join(spec.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return spec
}

// TestGroupContract judges one of three versions of a group under a condition on the calls of one
// function, and on calls of the other that a file gives.
func TestGroupContract(t *testing.T) {
	oneByOne(t)
	spec := codecSpec(t)
	spec.Requires, spec.CorpusFile = "Decode: Paired(s)", "Encode="+filepath.Join(spec.Dir, "calls.jsonl")
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	acts := &Activities{Store: s, Watch: func(Event) {}}
	defer acts.Close()
	ready, err := acts.Prepare(t.Context(), "run", spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := ready.InPlace.Recorded; !slices.Equal(got, []string{"Encode", "Decode"}) {
		t.Errorf("recorded are %v", got)
	}
	given := new(beagle.Corpus)
	if err := s.GetJSON(ready.Recorded[0].CorpusBlob, given); err != nil {
		t.Fatal(err)
	}
	if given.Calls != 5 || len(given.Sources) == 0 || !strings.Contains(given.Sources[0], "3 records of calls.jsonl") {
		t.Errorf("%v calls of %v", given.Calls, given.Sources)
	}
	const head = "package codec\n\n"
	decode := func(more string) string {
		return head + "func Decode(s string) string {\n\tout := make([]byte, 0, len(s))\n" +
			"\tfor i := 0; i < len(s); i++ {\n\t\tif s[i] == '%' {\n" +
			"\t\t\tif i++; i == len(s) {\n\t\t\t\tbreak\n\t\t\t}\n\t\t}\n" +
			more + "\t\tout = append(out, s[i])\n\t}\n\treturn string(out)\n}\n"
	}
	type version struct {
		name, text string
		want       beagle.Status
		check      string // words of the reason
	}
	for _, c := range sampletest.Of(t, []version{
		{"a lone sign at the end is lost", decode(""), beagle.Equal, ""},
		{"three pairs are two", decode("\t\tif i > 4 && s[i-5:i] == \"%%%%%\" {\n\t\t\tcontinue\n\t\t}\n"),
			beagle.Wrong, "Decode: "},
		{"a number is special", head + "func Encode(s string) string {\n\tout := \"\"\n" +
			"\tfor _, b := range []byte(s) {\n" +
			"\t\tif b == '%' && s != \"7%\" {\n\t\t\tout += \"%\"\n\t\t}\n\t\tout += string([]byte{b})\n\t}\n\treturn out\n}\n",
			beagle.Wrong, "Encode: "},
	}, 1) {
		v, err := acts.JudgeSource(t.Context(), "run", c.text, "version.go")
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != c.want || !strings.HasPrefix(v.Reason, c.check) || v.Contract.Requires != "Decode: Paired(s)" {
			t.Errorf("%s: %s by %s: %s; under %+v", c.name, v.Status, v.Stage, v.Reason, v.Contract)
		}
	}
}

// TestGroupGiven checks that calls which cannot judge versions of a group are refused before
// anything runs, with the reason and what to do.
func TestGroupGiven(t *testing.T) {
	spec := codecSpec(t)
	calls := filepath.Join(spec.Dir, "calls.jsonl")
	for _, c := range []struct{ target, corpus, why string }{
		{spec.Target, calls, "the records may be calls of Encode and of Decode"},
		{spec.Target, "Paired=" + calls, "it has no function Paired"},
		{spec.Target, "Encode=" + calls + ",Encode=" + calls, "gives calls of Encode twice"},
		{spec.Target, calls + ".gz", "no such file"},
		{"./.Count", calls, "Count.Add: it takes or returns a Count, which versions may change"},
		{"./.Count", "Count.Add=" + calls, "no version is judged on single calls of Count.Add"},
	} {
		s, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		given := spec
		given.Target, given.CorpusFile = c.target, c.corpus
		acts := &Activities{Store: s, Watch: func(Event) {}}
		_, err = acts.Prepare(t.Context(), "run", given)
		acts.Close()
		var usage *beagle.UsageError
		if !errors.As(err, &usage) || !strings.Contains(usage.What, c.why) || usage.Remedy == "" {
			t.Errorf("%s with %s: %v, want %q", c.target, c.corpus, err, c.why)
		}
	}
}

// TestGivenCorpora checks how the files of --corpus are written.
func TestGivenCorpora(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a=b", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	here, _ := os.Getwd()
	for text, want := range map[string]string{
		"":                 "",
		"calls.jsonl":      filepath.Join(here, "calls.jsonl"),
		"a=b":              filepath.Join(here, "a=b"),
		"F=x.jsonl":        "F=" + filepath.Join(here, "x.jsonl"),
		"F=x.jsonl,T.M=/y": "F=" + filepath.Join(here, "x.jsonl") + ",T.M=/y",
		"F=x.jsonl,y":      filepath.Join(here, "F=x.jsonl,y"),
	} {
		s := Spec{Dir: here, CorpusFile: text}
		for range 2 {
			if err := s.Anchor(); err != nil || s.CorpusFile != want {
				t.Errorf("%q is %q (%v), want %q", text, s.CorpusFile, err, want)
			}
		}
	}
}
