package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/store"
)

// TestUnreadableInbox checks that a search warns once of an inbox that cannot be read, however
// often it looks.
func TestUnreadableInbox(t *testing.T) {
	home, told := openStore(t, t.TempDir()), 0
	r := &run{d: &Driver{Store: home, Watch: func(flow.Event) { told++ }}, entry: store.Run{ID: "r"},
		course: &flow.Course{Search: evolve.New(evolve.Config{Budget: 1})}}
	file := filepath.Join(home.RunDir("r"), "inbox", "x.json")
	write := func(text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("{")
	for range 3 {
		if got := r.guests(); got != nil || told != 1 {
			t.Fatalf("%v, told %d times", got, told)
		}
	}
	write("{}")
	if got := r.guests(); len(got) != 1 || told != 1 {
		t.Errorf("mended: %v, told %d times", got, told)
	}
	write("{")
	if r.guests(); told != 2 {
		t.Errorf("broken again: told %d times", told)
	}
}

// TestRefusedGuests checks that a submitter learns which check refused a hand-in and why, as if it
// were judged by itself.
func TestRefusedGuests(t *testing.T) {
	guests := []struct {
		source string
		status beagle.Status
		stage  string
		reason string
	}{
		{"package p\n\nfunc Sum(s string) int { return len(s }\n", beagle.Invalid, "parse", "line 3: "},
		{"package p\n\nfunc Sum(s string) int { return " + strings.Repeat("(", 3000) + "0" + strings.Repeat(")", 3000) + " }\n", beagle.Invalid, "parse", "nests"},
		{"package p\n\nfunc Sum(s string) int { return nothing }\n", beagle.Invalid, "types", "line 3: undefined: nothing"},
		{"package p\n\nfunc Sum(s []byte) int { return len(s) }\n", beagle.Invalid, "scope", "signature"},
		{"package q\n\nfunc Sum(s string) int { return len(s) }\n", beagle.Invalid, "scope", "package"},
		{"package p\n\n//go:linkname now runtime.nanotime\nfunc now() int64\n\nfunc Sum(s string) int { return int(now()) }\n", beagle.Invalid, "scope", "now"},
		{target, beagle.Duplicate, "propose", "original"},
		{"package p\n\nfunc Sum(s string) int {\n\tn := 0\n\tfor _, b := range []byte(s) {\n\t\tn += int(b)\n\t}\n\treturn n\n}\n", beagle.Equal, "screen", ""},
	}
	s := spec(t, llmtest.New(t, versions(0)).URL())
	s.Models, s.Candidates = flow.Models{}, 20
	k, home := newKnown(0, 2), openStore(t, t.TempDir())
	run := ""
	handIn := searching(func() {
		runs, err := home.Runs()
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		run = runs[0].ID
		for _, g := range guests {
			if _, err := home.Submit(run,
				store.Submission{ID: beagle.HashOf("submission", g.source), Source: g.source}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, err := k.driver(home, handIn).Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, g := range guests {
		fate, taken := flow.FateOf(home, run, beagle.HashOf("submission", g.source))
		v := fate.Verdict
		if !taken || v.Status != g.status || v.Stage != g.stage || !strings.Contains(v.Reason, g.reason) {
			t.Errorf("%.60q: taken %v, %s at %s: %s; want %s at %s: %s", g.source, taken, v.Status, v.Stage, v.Reason,
				g.status, g.stage, g.reason)
		}
	}
}
