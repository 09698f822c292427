package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// TestRedactedRunKeepsWhatPanicsSay checks that a function that says in its panic what it was
// given, and versions that say something else: what models learn of them has no captured text.
func TestRedactedRunKeepsWhatPanicsSay(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run")
	}
	sampletest.Rarely(t, 2)
	const secret = "UrsulaMeierhofer"
	const text = "package p\n\n// Sum adds the bytes of s.\nfunc Sum(s string) int {\n" +
		"\tif len(s) > 0 && s[0] == 'U' {\n\t\tpanic(\"on the list: \" + s)\n\t}\n\tn := 0\n" +
		"\tfor i := 0; i < len(s); i++ {\n\t\tn += int(s[i])\n\t}\n\treturn n\n}\n"
	args := make([]string, 200)
	for i := range args {
		args[i] = fmt.Sprintf("[%q]", fmt.Sprintf("some text %d", i))
		if i%3 == 0 {
			args[i] = fmt.Sprintf("[%q]", secret)
		}
	}
	server := llmtest.New(t, func(c llmtest.Call) *llmtest.Reply {
		return &llmtest.Reply{
			Text: strings.Replace(version(c.Number), "{\n\tn",
				"{\n\tif len(s) > 0 && s[0] == 'U' {\n\t\tpanic(\"denied: \" + s)\n\t}\n\tn", 1),
		}
	})
	s := specOf(t, text, args, server.URL(), "test")
	s.Candidates, s.Batch, s.Models.NoRules = 5, 1, true
	s.Models.InFlight = 1
	d := &Driver{Store: openStore(t, t.TempDir())}
	if _, err := d.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	shown := false
	for _, c := range server.Calls() {
		q := c.Question()
		shown = shown || strings.Contains(q, "the original panics with string, this panics with string")
		for _, word := range []string{secret, "Ursula", "Meierhofer"} {
			if strings.Contains(q, word) {
				t.Fatalf("call %d tells %q:\n%s", c.Number, word, q)
			}
		}
	}
	if !shown {
		t.Errorf("%d calls, and none tells of the panic: the run shows nothing\n%s", len(server.Calls()),
			server.Calls()[len(server.Calls())-1].Question())
	}
}
