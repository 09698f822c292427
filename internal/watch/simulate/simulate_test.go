package simulate

import "testing"

// TestReplays: what should be found is found in most replays, and false
// findings are rare.
func TestReplays(t *testing.T) {
	const replays = 3
	wrong := 0
	for _, e := range Events {
		found := 0
		for seed := range uint64(replays) {
			o, err := Replay(e.Event, seed)
			if err != nil {
				t.Fatal(err)
			}
			if o.Found {
				found++
			}
			wrong += o.False
			t.Logf("%s, seed %d: %+v", e.Event, seed, o)
		}
		if e.Found && found < replays-1 {
			t.Errorf("%s: found in %d of %d replays", e.Event, found, replays)
		}
	}
	if most := len(Events) * replays * Windows * 3 / 1000; wrong > most {
		t.Errorf("%d false findings in %d windows", wrong, len(Events)*replays*Windows)
	}
}
