package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/llmtest"
)

// A witness is the real evaluator that remembers its verdicts; there is no final judgement.
type witness struct {
	*flow.Activities
	mu   sync.Mutex
	seen []flow.Evaluation
}

func (w *witness) Evaluate(
	ctx context.Context, run string, ids []string, foresee flow.Foresee,
) (*flow.EvaluatedBatch, error) {
	out, err := w.Activities.Evaluate(ctx, run, ids, foresee)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, out.Candidates...)
	}
	return out, err
}

func (w *witness) Judge(context.Context, string, flow.Field) (*flow.Conclusion, error) {
	return &flow.Conclusion{Why: "nobody judged"}, nil
}

// passes returns the text of a Sum that reads its text n times over, and divides.
func passes(before, n, after string) string {
	return "func Sum(s string) int {\n" + before + "\tn := 0\n\tfor range " + n +
		" {\n\t\tfor i := 0; i < len(s); i++ {\n\t\t\tn += int(s[i])\n\t\t}\n\t}\n\treturn n" + after + "\n}\n"
}

// TestSearchSeesWhoPays checks that of a version that is faster because some inputs pay for the
// others, the search is told which.
func TestSearchSeesWhoPays(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and times versions")
	}
	const ascii = "\tor := byte(0)\n\tfor i := 0; i < len(s); i++ {\n\t\tor |= s[i]\n\t}\n\ttimes, of := 1, 1\n" +
		"\tif or >= 0x80 {\n\t\ttimes, of = 60, 60\n\t}\n"
	shortcut := "One pass for ASCII.\n\n```go\n" + passes(ascii, "times", " / of * 40") + "```\n"
	server := llmtest.New(t, llmtest.Say(shortcut))
	args := make([]string, 400)
	for i := range args {
		text := "abcdefgh"
		if i%8 == 0 {
			text = "äbcdefg"
		}
		args[i] = fmt.Sprintf("[%q]", strings.Repeat(text, 20+i%9)+fmt.Sprint(i))
	}
	s := specOf(t, "package p\n\n// Sum adds the bytes of s, forty times.\n"+passes("", "40", ""), args,
		server.URL(), "test")
	s.Models.NoRules, s.Candidates, s.Models.Caps.Calls = true, 2, 3
	w := new(witness)
	d := &Driver{Store: openStore(t, t.TempDir()), wrap: func(a *flow.Activities) activities {
		w.Activities = a
		return w
	}}
	if _, err := d.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(w.seen, func(e flow.Evaluation) bool {
		return e.Verdict.Screen != nil && e.Verdict.Screen.Low > 1
	})
	if i < 0 {
		t.Fatalf("the shortcut is not faster: %+v, %+v", w.seen, w.seen[0].Verdict.Screen)
	}
	v := &w.seen[i].Verdict
	at := map[string]float64{}
	for _, c := range v.InputClasses {
		at[c.Name] = c.Ratio.Point
	}
	if paying := at["s: non-ASCII"]; paying == 0 || paying >= 1 || at["s: ASCII"] <= 1 {
		t.Errorf("%v times as fast in all; by class %v", *v.Screen, at)
	}
}
