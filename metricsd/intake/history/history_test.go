package history

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestSeeAndExpire(t *testing.T) {
	s := New(1 << 16)
	a, b := s.Key(0, "a"), s.Key(0, "b")
	if a == s.Key(1, "a") || a == b {
		t.Fatal("keys of different names or kinds are equal")
	}
	x, y := s.Owner("x"), s.Owner("y")
	if x == y || s.Key(0, "x")+y == s.Key(0, "y")+x {
		t.Fatal("keys of different owners are equal")
	}
	if !s.See(a, 1) || s.See(a, 1) || s.See(a, 2) || !s.See(b, 1) {
		t.Error("a name is new once, and only once")
	}
	if gone := s.Expire(2, 3); gone != 1 {
		t.Errorf("%d keys expired, want only b", gone)
	}
	if s.See(a, 3) || !s.See(b, 3) {
		t.Error("a was seen in epoch 2 and stays; b is new again")
	}
}

func TestBound(t *testing.T) {
	s := New(640)
	for i := range 10_000 {
		s.See(s.Key(0, fmt.Sprint(i)), 1)
	}
	known, refused := s.Len()
	if known > 640 || known+int(refused) != 10_000 {
		t.Errorf("%d known and %d refused, of 10,000 with a bound of 640", known, refused)
	}
}

func TestOneOfManyIsToldThatItIsNew(t *testing.T) {
	s := New(1 << 16)
	var mu sync.Mutex
	fresh := map[int]int{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 5000 {
				if s.See(s.Key(0, fmt.Sprint(i)), 1) {
					mu.Lock()
					fresh[i]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	for i, n := range fresh {
		if n != 1 {
			t.Fatalf("name %d was new %d times", i, n)
		}
	}
	if len(fresh) != 5000 {
		t.Errorf("%d names were new, want 5000", len(fresh))
	}
}

// names returns shuffled names of usual length, so that no look-up profits from the one before it.
func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("service%d.request.duration.p%d", i%997, i)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// BenchmarkSets compares the history with the map of strings that it replaces: the
// table of Datadog's post about its intake, at a million names that are all known.
func BenchmarkSets(b *testing.B) {
	all := names(1 << 20)
	b.Run("string", func(b *testing.B) {
		m := map[string]struct{}{}
		for _, n := range all {
			m[n] = struct{}{}
		}
		for i := 0; b.Loop(); i++ {
			m[all[i&(1<<20-1)]] = struct{}{}
		}
	})
	b.Run("int", func(b *testing.B) {
		s := New(1 << 24)
		keys := make([]uint64, len(all))
		for i, n := range all {
			keys[i] = s.Key(0, n)
		}
		m := map[uint64]uint32{}
		for _, k := range keys {
			m[k] = 1
		}
		for i := 0; b.Loop(); i++ {
			m[keys[i&(1<<20-1)]] = 1
		}
	})
	b.Run("history", func(b *testing.B) {
		s := New(1 << 24)
		for _, n := range all {
			s.See(s.Key(0, n), 1)
		}
		for i := 0; b.Loop(); i++ {
			s.See(s.Key(0, all[i&(1<<20-1)]), 1)
		}
	})
	b.Run("history, key known", func(b *testing.B) {
		s := New(1 << 24)
		keys := make([]uint64, len(all))
		for i, n := range all {
			keys[i] = s.Key(0, n)
			s.See(keys[i], 1)
		}
		for i := 0; b.Loop(); i++ {
			s.See(keys[i&(1<<20-1)], 1)
		}
	})
}

// TestStampsOfAClockThatRanAhead lets a clock run ahead for a while and sets it back. Names seen
// meanwhile must not stay until that time.
func TestStampsOfAClockThatRanAhead(t *testing.T) {
	s := New(1000)
	s.See(1, 1000)
	if gone := s.Expire(5, 10); gone != 0 {
		t.Error("a name was forgotten that was seen a moment ago")
	}
	if gone := s.Expire(11, 20); gone != 1 {
		t.Error("a name is remembered until a time that may never come")
	}
}
