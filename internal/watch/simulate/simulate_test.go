package simulate

import "testing"

// TestReplays: what should be found is found, and false findings are rare. The
// full figures come from `go run ./bench/figures watch`.
func TestReplays(t *testing.T) {
	wrong := 0
	for _, e := range Events {
		o, err := Replay(e.Event, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", e.Event, o)
		if o.Found != e.Found {
			t.Errorf("%s: found is %v", e.Event, o.Found)
		}
		wrong += o.False
	}
	if wrong > len(Events) {
		t.Errorf("%d false findings in %d windows", wrong, len(Events)*Windows)
	}
}
