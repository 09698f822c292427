package names

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// some makes n usual names; every tenth repeats another.
func some(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := []string{"request", "latency", "cache", "db", "kafka", "http", "grpc", "cpu", "queue", "errors", "größe"}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("svc%d.%s.%s.%x", rng.IntN(50), words[rng.IntN(len(words))],
			words[rng.IntN(len(words))], rng.IntN(n))
		if i > 0 && rng.IntN(10) == 0 {
			out[i] = out[rng.IntN(i)]
		}
	}
	return out
}

// oracle finds names by the obvious method.
func oracle(all []string, most int, fits func(string) bool) []string {
	var found []string
	for _, n := range slices.Compact(slices.Sorted(slices.Values(all))) {
		if fits(n) {
			found = append(found, n)
		}
	}
	return found[:min(most, len(found))]
}

func TestAgainstReadingEverything(t *testing.T) {
	all := some(60_000, 7)
	d := New(1 << 20)
	for _, n := range all {
		d.Add(n)
	}
	d.Wait()
	distinct := len(slices.Compact(slices.Sorted(slices.Values(all))))
	if known, refused := d.Len(); known != distinct || refused != 0 {
		t.Fatalf("%d names known, %d refused; want %d", known, refused, distinct)
	}
	const every = 1 << 20
	for _, part := range []string{"", "s", "svc7", "svc7.", "svc49.größe", "zzz", "request", ".c", "ö", "e.latency.1f",
		"svc1.cache.cache.a", "9"} {
		got, want := d.Prefix(part, 15), oracle(all, 15, func(n string) bool { return strings.HasPrefix(n, part) })
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q: got %q, want %q", part, got, want)
		}
		got, cut := d.Contains(part, every)
		want = oracle(all, every, func(n string) bool { return strings.Contains(n, part) })
		if cut || !slices.Equal(got, want) {
			t.Errorf("substring %q: got %d names (cut %v), want %d", part, len(got), cut, len(want))
		}
		if got, _ := d.Contains(part, 3); len(got) != min(3, len(want)) ||
			slices.ContainsFunc(got, func(n string) bool { return !strings.Contains(n, part) }) {
			t.Errorf("substring %q, three of them: got %q", part, got)
		}
	}
}

// TestNoFindAcrossNames checks that the end of a name and the beginning of the next are never a
// find together.
func TestNoFindAcrossNames(t *testing.T) {
	s := newSegment([]string{"aab", "bcc", "bcd", "c", "d"})
	for part, want := range map[string][]string{
		"bb": nil, "abb": nil, "b": {"aab", "bcc", "bcd"}, "bc": {"bcc", "bcd"}, "dc": nil, "cd": {"bcd"}, "c": {"bcc", "bcd", "c"},
	} {
		if got, _ := s.contains([]byte(part), 10, Look); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", part, got, want)
		}
	}
}

func TestBoundAndEmpty(t *testing.T) {
	d := New(2)
	if got := d.Prefix("a", 5); len(got) != 0 {
		t.Errorf("an empty directory gave %q", got)
	}
	for _, n := range []string{"", "a", "b", "b", "c"} {
		d.Add(n)
	}
	if known, refused := d.Len(); known != 2 || refused != 1 {
		t.Errorf("%d known, %d refused; want 2 and 1", known, refused)
	}
}

// TestASharedRoom fills three directories that have room for five names together.
func TestASharedRoom(t *testing.T) {
	room := NewRoom(5)
	a, b, c := NewBounded(room, 3), NewBounded(room, 10), NewBounded(room, 10)
	for _, n := range []string{"a", "b", "c", "d"} {
		a.Add(n)
	}
	b.Fill([]string{"a", "b", "c"})
	c.Add("a")
	for d, want := range map[*Directory][2]int{a: {3, 1}, b: {2, 1}, c: {0, 1}} {
		if known, refused := d.Len(); known != want[0] || int(refused) != want[1] {
			t.Errorf("%d known, %d refused; want %v", known, refused, want)
		}
	}
	if got := b.Prefix("", 9); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the second has %q", got)
	}
}

func TestNewNamesAreFoundDuringMerges(t *testing.T) {
	d := New(1 << 20)
	for i := range 5 * youngest {
		name := fmt.Sprintf("metric.%d", i)
		d.Add(name)
		if i%1000 == 0 {
			if got, _ := d.Contains(name[3:], 1<<20); !slices.Contains(got, name) {
				t.Fatalf("%s is not found right after it was added", name)
			}
		}
	}
	d.Wait()
	if got := d.Prefix("metric.", 1<<20); len(got) != 5*youngest {
		t.Errorf("%d names, want %d", len(got), 5*youngest)
	}
}

// BenchmarkComplete completes among ten million names (fewer in short mode), with usual texts and
// with the hardest: frequent parts that seldom stand together.
func BenchmarkComplete(b *testing.B) {
	n := 10_000_000
	if testing.Short() {
		n = 100_000
	}
	d := New(n)
	begin := time.Now()
	for _, name := range some(n, 3) {
		d.Add(name)
	}
	d.Wait()
	known, _ := d.Len()
	b.Logf("%d names in %.1f s, %d segments", known, time.Since(begin).Seconds(), len(d.segments))
	for _, part := range []string{"r", "svc", "latency", "latency.db.a", "ff", "7.grpc.grpc.77", "queue.errors.fffff",
		"errors.request.zz", "nowhere"} {
		b.Run("prefix="+part, func(b *testing.B) {
			for b.Loop() {
				d.Prefix(part, 20)
			}
		})
		b.Run("substring="+part, func(b *testing.B) {
			for b.Loop() {
				d.Contains(part, 20)
			}
		})
	}
}

func TestFill(t *testing.T) {
	d := New(4)
	d.Add("b")
	d.Fill([]string{"", "a", "b", "c"})
	d.Add("c")
	d.Fill([]string{"d", "e"})
	if got := d.Prefix("", 9); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %q", got)
	}
	if known, refused := d.Len(); known != 4 || refused != 1 {
		t.Errorf("%d known, %d refused; want 4 and 1", known, refused)
	}
}
