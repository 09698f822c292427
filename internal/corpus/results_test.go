package corpus

import (
	"bytes"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
)

// TestResults: a file gives back the results that production gave. Equal calls with unequal results
// become one record that says so.
func TestResults(t *testing.T) {
	u := load(t, wordsDir(), "./text.Max[int]")
	in := `{"args":{"a":1,"b":2},"results":[2]}
{"args":{"a":1,"b":2},"weight":3}
{"args":{"a":5,"b":4},"results":[5]}
{"args":{"a":5,"b":4},"results":[4]}
{"args":{"a":9,"b":9}}
`
	records := fromJSON(t, u, in)
	var out bytes.Buffer
	if err := Write(&out, u, records); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"args":{"a":1,"b":2},"weight":4,"results":[2]}`,
		`{"args":{"a":5,"b":4},"weight":2,"results":[4],"varies":true}`,
		`{"args":{"a":9,"b":9},"weight":1}`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s is missing in\n%s", want, &out)
		}
	}
	var again bytes.Buffer
	if err := Write(&again, u, fromJSON(t, u, out.String())); err != nil || again.String() != out.String() {
		t.Errorf("%v\n%s", err, &again)
	}
	if _, err := Read(u, strings.NewReader(`{"args":[1,2],"results":["two"]}`), "x"); err == nil ||
		!strings.Contains(err.Error(), `field "results"`) {
		t.Errorf("a result of another type: %v", err)
	}
}

// TestAnswers: a corpus says how many calls the original answers otherwise than production did,
// with one of them. It compares neither calls without results nor those with several.
func TestAnswers(t *testing.T) {
	u := load(t, wordsDir(), "./text.Lower")
	sandboxed := box(t)
	b, err := harness.NewBuilder(t.Context(), u, sandboxed, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	corpusOf := func(in string) *beagle.Corpus {
		t.Helper()
		built, err := Build(t.Context(), u, b, sandboxed, Input{Records: fromJSON(t, u, in)})
		if err != nil {
			t.Fatal(err)
		}
		return built.Corpus
	}
	a := corpusOf(`{"args":["A"],"results":["a"],"weight":6}
{"args":["B"],"results":["B!"],"weight":2}
{"args":["C"],"results":["c"],"varies":true}
{"args":["D"]}
`).Answers
	if a == nil || a.Compared != 2 || a.Otherwise != 1 || a.Share != 0.25 || a.Varied != 1 || a.Unread != 0 ||
		a.Example != `Lower("B") gave "B!" there, and gives "b" here` {
		t.Errorf("%+v", a)
	}
	if a := corpusOf(`{"args":["A"]}` + "\n" + `{"args":["B"]}`).Answers; a != nil {
		t.Errorf("without results: %+v", a)
	}
}
