package main

import (
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShare checks that the share of the experts' gain is one of logarithms, over tasks whose
// expert behaves. A version that is not shown to be faster counts as the original.
func TestShare(t *testing.T) {
	sound := func(gain, low float64) *timedVersion {
		return &timedVersion{Status: "equal", Gain: gain, Low: low, High: gain + 1}
	}
	r := commitReport{Half: sealed, Tasks: []*task{
		{Search: search{End: improved, Low: 1.9, Seconds: 60}, Winner: sound(2, 1.9), Expert: sound(4, 3)},
		{Search: search{End: kept}, Expert: sound(2, 1.5)},
		{Search: search{End: kept}, Expert: sound(1.3, 0.9)}, // not shown to be faster
		{Search: search{End: improved, Low: 7}, Winner: sound(8, 7), Expert: sound(2, 1.8)},
		{Search: search{End: improved, Low: 3}, Winner: sound(4, 3), Expert: &timedVersion{Status: "wrong"}},
		{Search: search{End: improved, Low: 3}, Winner: &timedVersion{Status: "wrong", Gain: 9, Low: 8},
			Expert: sound(2, 1.9)},
		{Search: search{End: rejected, Why: "a channel"}},
	}}
	r.sum()
	if r.Compared != 5 || r.Unsound != 1 || r.Improved != 4 || r.Wrong != 1 || r.Tasks != nil {
		t.Errorf("%+v", r)
	}
	if math.Abs(r.Share-4.0/5) > 1e-9 || math.Abs(r.Capped-2.0/5) > 1e-9 { // 2*8 of 4*2*2*2, capped 2*2
		t.Errorf("share %v, capped %v, want 4/5 and 2/5", r.Share, r.Capped)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "80 % (40 % when") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// TestSealedTask checks that a result of the sealed half keeps no name.
func TestSealedTask(t *testing.T) {
	task := &task{Half: sealed, Module: "m", Function: "F", Kind: "table", Problem: "m.F: gone",
		Search: search{Detail: "m.F: why"}, Expert: &timedVersion{Why: "F(1) is 2"}, Winner: &timedVersion{Why: "F(1)"}}
	task.seal()
	file := filepath.Join(t.TempDir(), "f")
	if err := appendLine(file, task); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	for _, name := range []string{"m.F", `"m"`, "F(1)", "table"} {
		if strings.Contains(string(text), name) {
			t.Errorf("%s holds %q", text, name)
		}
	}
}

// TestPerfect checks that the scripted model answers with the maintainers' version.
func TestPerfect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expert.go")
	if err := os.WriteFile(file, []byte("package p\n\nfunc F() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := perfect(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	question := `{"model":"maintainer","messages":[{"role":"user","content":"faster"}]}`
	reply, err := http.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if text, err := io.ReadAll(reply.Body); err != nil || !strings.Contains(string(text), "func F() {}") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestLines checks that a truncated line is left out, and that the next one stands alone.
func TestLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(file, []byte("{\"key\":\"a\"}\n{\"key\":\"b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := appendLine(file, result{Key: "c"}); err != nil {
		t.Fatal(err)
	}
	s, err := openShelf(file, func(r *result) (string, bool) { return r.Key, r.Key != "a" })
	if err != nil || len(s.kept) != 1 || s.get("c") == nil {
		t.Errorf("kept %v, %v, want c alone", s.kept, err)
	}
}
