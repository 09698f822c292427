package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/llmtest"
)

// at makes calls at these seconds.
func at(seconds ...int) (calls []llmtest.Call) {
	start := time.Unix(1000, 0)
	for i, s := range seconds {
		calls = append(calls, llmtest.Call{Number: i + 1, At: start.Add(time.Duration(s) * time.Second)})
	}
	return calls
}

func TestFromLogs(t *testing.T) {
	s := scenario{n: 4, slots: 2, reply: fresh}
	log := []entry{
		{What: "begin"}, {What: "end", At: 0.5}, // the original
		{What: "begin", Reply: 1}, {What: "begin", Reply: 2},
		{At: 1, What: "end", Reply: 1}, {At: 1.5, What: "end", Reply: 2},
		{What: "begin", Reply: 1}, {At: 2.5, What: "end", Reply: 1},
		{What: "begin", Reply: 3}, {At: 3.5, What: "end", Reply: 3},
	}
	o := fromLogs(s, at(0, 2, 4, 9), log)
	if o.wanted != 4 || o.calls != 4 || o.evals != 4 || o.again != 1 {
		t.Errorf("wanted %d, calls %d, evaluations %d, of them again %d", o.wanted, o.calls, o.evals, o.again)
	}
	if o.spacing != 3*time.Second {
		t.Errorf("the mean time between calls is %v, want 3 s", o.spacing)
	}
	// Both slots are filled from 1.5 s on: two more evaluations end in the two seconds after that.
	if o.rate != 60 {
		t.Errorf("%v evaluations a minute, want 60", o.rate)
	}
	if o.harmed != -1 || o.twice != -1 {
		t.Errorf("what does not apply is %d and %d, want -1", o.harmed, o.twice)
	}
}

func TestHarmed(t *testing.T) {
	for _, s := range scenarios(16) {
		if s.name != "hang" {
			continue
		}
		var log []entry
		for number := 1; number <= s.n; number++ {
			if number != 3 && !s.reply(number).hang { // 3 is faultless, and was lost
				log = append(log, entry{What: "begin", Reply: number},
					entry{At: float64(number), What: "end", Reply: number})
			}
		}
		if o := fromLogs(s, at(make([]int, s.n)...), log); o.harmed != 1 {
			t.Errorf("%d candidates harmed, want 1", o.harmed)
		}
	}
}

func TestMeanGap(t *testing.T) {
	if gap := meanGap(at(7)); gap != 0 {
		t.Errorf("one call has a gap of %v", gap)
	}
}

func TestPaidTwice(t *testing.T) {
	dir := t.TempDir()
	if n := countPaidTwice(dir); n != -1 {
		t.Errorf("without a journal %d, want -1: unknown", n)
	}
	run := filepath.Join(dir, "home", "runs", "r1")
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`{"ID":"a","Request":{}}`, `{"ID":"b","Request":{}}`,
		`{"ID":"a","Reply":{}}`,
		`{"ID":"b","Request":{}}`, // in flight at the kill: no reply had arrived
		`{"ID":"a","Request":{}}`, // paid twice
		`{"ID":"b","Rep`,
	}
	if err := os.WriteFile(filepath.Join(run, "calls.jsonl"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := countPaidTwice(dir); n != 1 {
		t.Errorf("%d requests paid twice, want 1", n)
	}
}

func TestSpread(t *testing.T) {
	calls := row{figure: func(_ string, o outcome) (float64, bool) { return float64(o.calls), o.calls > 0 }}
	for _, c := range []struct {
		runs []outcome
		want string
	}{
		{nil, "–"},
		{[]outcome{{calls: 0}}, "–"},
		{[]outcome{{calls: 7}}, "7"},
		{[]outcome{{calls: 9}, {calls: 2}, {calls: 4}}, "4 (2–9)"},
		{[]outcome{{calls: 9, note: "failed: killed"}, {calls: 2}}, "2"},
	} {
		if got := spread(calls, "Beagle", c.runs); got != c.want {
			t.Errorf("%v: got %q, want %q", c.runs, got, c.want)
		}
	}
}

// TestReplies holds the replies to what the scenarios promise: all differ, and Go's parse.
func TestReplies(t *testing.T) {
	seen := map[string]bool{}
	for number := range 100 {
		for _, k := range []kind{fresh(number), {id: number, hang: true}} {
			code := goCode(k)
			if _, err := parser.ParseFile(token.NewFileSet(), "reply.go", "package count\n"+code, 0); err != nil {
				t.Fatalf("%+v: %v", k, err)
			}
			if seen[code] || strings.Contains(code, "for len(text) >") != k.hang {
				t.Errorf("%+v: the code is known, or hangs where it must not", k)
			}
			seen[code] = true
		}
	}
	if text := golang.text(kind{id: 3, miss: true}); !strings.Contains(text, "<<<<<<< SEARCH") {
		t.Errorf("a miss has no search: %s", text)
	}
}
