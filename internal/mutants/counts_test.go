package mutants

import "testing"

func TestCounts(t *testing.T) {
	if got, want := Counts(map[string]int{"types": 3, "replay": 12}), "replay 12, types 3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Counts(nil); got != "" {
		t.Errorf("of nothing: %s", got)
	}
}
