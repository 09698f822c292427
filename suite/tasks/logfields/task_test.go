package logfields

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// lines are 8,192 lines of a service's log, of 5 to 16 fields, some with words
// that stand alone, some with capitals, few with text that is not ASCII.
var lines = makeLines(8192)

func makeLines(n int) []string {
	rng := rand.New(rand.NewPCG(21, 22))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	lines := make([]string, n)
	for i := range lines {
		parts := []string{
			fmt.Sprintf("time=2026-11-%02dT%02d:%02d:%02d.%03dZ", 1+rng.IntN(28), rng.IntN(24), rng.IntN(60),
				rng.IntN(60), rng.IntN(1000)),
			"level=" + pick("info", "info", "info", "debug", "warn", "error"),
			"service=" + pick("checkout", "intake", "web", "billing"),
			fmt.Sprintf("trace_id=%016x", rng.Uint64()),
		}
		for range 1 + rng.IntN(12) {
			switch rng.IntN(12) {
			case 0:
				parts = append(parts, pick("retrying", "done", "cached"))
			case 1:
				parts = append(parts, fmt.Sprintf(`User="%s"`, pick("ann", "bob", "jürgen", "eve")))
			case 2:
				parts = append(parts, fmt.Sprintf(`X-Request-ID="%x"`, rng.Uint64()))
			case 3:
				parts = append(parts, fmt.Sprintf("path=/api/v2/%x/items?page=%d", rng.Uint32(), rng.IntN(50)))
			default:
				parts = append(parts,
					fmt.Sprintf("%s=%d", pick("status", "bytes", "duration_ms", "attempt", "shard", "queue_depth"),
						rng.IntN(100000)))
			}
		}
		lines[i] = strings.Join(parts, " ")
		if rng.IntN(10) == 0 {
			lines[i] = strings.Replace(lines[i], " ", "  ", 1)
		}
		if rng.IntN(4) == 0 {
			lines[i] += "\n"
		}
	}
	return lines
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]Field{
		"":                         nil,
		" \n":                      nil,
		"a=1 B=\"x\"  done\n":      {{"a", "1"}, {"b", "x"}, {"", "done"}},
		"=1 a= b=c=d":              {{"", "1"}, {"a", ""}, {"b", "c=d"}},
		`q="" r="a`:                {{"q", ""}, {"r", "a"}},
		"ÄPFEL=3 \u00a0x\u2003y=1": {{"äpfel", "3"}, {"x\u2003y", "1"}},
	} {
		if got := Split(line); !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, line := range lines {
		if n := len(Split(line)); n < 5 || n > 16 {
			t.Errorf("%q has %d fields", line, n)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Split(lines[i%len(lines)])
	}
}
