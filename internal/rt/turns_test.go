package rt

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestTurns checks that two that take turns are never told the same turn, and both get theirs.
func TestTurns(t *testing.T) {
	meeting := filepath.Join(t.TempDir(), "meeting")
	if err := os.WriteFile(meeting, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen [2][]int64
	var begun [2]time.Time
	var both sync.WaitGroup
	for i := range seen {
		turns := &Turns{Length: int64(2 * time.Millisecond), Second: i == 1, Meet: meeting}
		both.Go(func() {
			if i == 1 {
				time.Sleep(20 * time.Millisecond) // one is ready later
			}
			before := time.Now()
			turns.meet()
			begun[i] = time.Now()
			if i == 1 && begun[i].Sub(before) >= longestWait {
				t.Error("the one that came last waited")
			}
			for range 10 {
				seen[i] = append(seen[i], turns.wait())
				time.Sleep(time.Millisecond)
			}
		})
	}
	both.Wait()
	for i := range seen {
		for _, n := range seen[i] {
			if n%2 != int64(i) {
				t.Errorf("process %d got turn %d", i, n)
			}
		}
		if seen[i][0] == seen[i][9] {
			t.Errorf("process %d had one turn only", i)
		}
	}
	if early := begun[1].Sub(begun[0]); early >= longestWait {
		t.Errorf("one began %v before the other was ready", early)
	}
}
