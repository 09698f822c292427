//go:build unix

package main

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/rollout"
)

func testLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{say: t.Logf}
	if err := l.place(filepath.Join("..", ".."), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTree checks that the edits fit today's metricsd, and that every version of every function can
// be written.
func TestTree(t *testing.T) {
	l := testLab(t)
	if err := l.copyTree(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		text, err := os.ReadFile(filepath.Join(l.tree(), filepath.FromSlash(e.file)))
		if err != nil || !strings.Contains(string(text), e.new) {
			t.Errorf("%s lacks %q: %v", e.file, e.new, err)
		}
	}
	for _, target := range targets {
		kinds := []string{faster, same}
		for _, l := range losses {
			kinds = append(kinds, l.kind)
		}
		for _, kind := range kinds {
			text, err := rolled{Target: target, Spec: target.spec, Kind: kind}.write(l.tree())
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
			if err != nil || f.Scope.Lookup(target.name) == nil {
				t.Errorf("%s, %s: %v\n%s", target.name, kind, err, text)
			}
		}
	}
}

// TestDraw checks that a seed determines the draw, that a longer draw begins as a shorter one does,
// and that all kinds come.
func TestDraw(t *testing.T) {
	short, long := draw(20, 1), draw(200, 1)
	kinds := map[string]int{}
	for i, r := range long {
		if i < len(short) && short[i].String() != r.String() {
			t.Errorf("%s and %s", short[i], r)
		}
		for _, l := range losses {
			if l.kind == r.Kind && l.values && !r.Target.values {
				t.Errorf("%s: a panic would end the service", r)
			}
		}
		kinds[r.Kind]++
	}
	if len(kinds) != len(losses)+2 || kinds[faster] < 40 || kinds[same] < 40 {
		t.Errorf("%v", kinds)
	}
}

// TestReport checks that kept outcomes are read again, and that a version without a gain must not
// have shipped.
func TestReport(t *testing.T) {
	l := testLab(t)
	all := draw(20, 1)
	for _, r := range all[:3] {
		phase := rollout.RolledBack
		if r.Kind == faster {
			phase = rollout.Released
		}
		if err := l.keep("x.jsonl", &outcome{rolled: r, Phase: phase, Cause: "because: of it", Blocks: 7}); err != nil {
			t.Fatal(err)
		}
	}
	done, err := l.done("x.jsonl")
	if err != nil || len(done) != 3 || done[2].Blocks != 7 {
		t.Fatalf("%v: %+v", err, done)
	}
	if err := report(all, done); err != nil {
		t.Error(err)
	}
	bad := done[1] // a loss
	bad.Phase = rollout.Holdout
	done[1] = bad
	if err := report(all, done); err == nil {
		t.Error("a loss that shipped is no error")
	}
}

// TestPlans checks that the plans are valid, and leave nothing to a default that the text does not
// mention.
func TestPlans(t *testing.T) {
	for _, service := range []string{agent, intake} {
		for _, p := range []rollout.Plan{plan(service, shortBlocks), proofPlan(service, 300)} {
			p.Build = "b"
			if _, err := rollout.New(p); err != nil {
				t.Error(err)
			}
		}
	}
	l := &lab{ends: time.Now().Add(-time.Second)}
	if !l.over() || new(lab).over() {
		t.Error("the time is over when it is not, or is not when it is")
	}
}
