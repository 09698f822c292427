package companion

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestExplained: what one program explains another reads back, after its progress.
func TestExplained(t *testing.T) {
	for _, want := range []beagle.UsageError{
		{What: "there is no flag --x"},
		{What: "corpus.jsonl:3: two words", Remedy: "write one"},
		{What: "no program", Remedy: "install it:\ngo install ./cmd/it\nor name it"},
	} {
		var printed strings.Builder
		printed.WriteString("recording\nbeagle bench: of another verb\n  try again\n")
		Explain(&printed, "capture", &want)
		if got := Explained(printed.String(), "capture"); got == nil || *got != want {
			t.Errorf("%q was read from %q", got, printed.String())
		}
	}
	if got := Explained("disarmed beagle capture: x\n", "capture"); got != nil {
		t.Errorf("%v was read from progress", got)
	}
}
