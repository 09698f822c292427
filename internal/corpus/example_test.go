package corpus

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
)

// TestExampleTags builds the corpus of the included example from its own tests: enough distinct
// realistic inputs, and twice the same corpus.
func TestExampleTags(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the example's tests twice")
	}
	dir, err := filepath.Abs("../../examples/tags")
	if err != nil {
		t.Fatal(err)
	}
	u := load(t, dir, "./.NormalizeTagArbTagValue")
	var corpora []*beagle.Corpus
	for range 2 {
		start := time.Now()
		got, err := Capture(context.Background(), u, box(t), t.TempDir(), CaptureOptions{
			Budget:   5 * time.Minute,
			Progress: func(what string, n int) { t.Logf("%v %d %s", time.Since(start), n, what) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("captured after %v: %q, failures %q", time.Since(start), got.Sources, got.Failures)
		b, err := harness.NewBuilder(context.Background(), u, box(t), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		c, err := Build(context.Background(), u, b, box(t), Input{Captured: got, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("built after %v", time.Since(start))
		corpora = append(corpora, c.Corpus)
	}
	c := corpora[0]
	if corpora[1].ID() != c.ID() {
		t.Error("the second corpus is another one")
	}
	p := c.Facets.Params[0]
	t.Logf("%d, %d, %d records; %+v; mined %v", len(c.Train), len(c.Holdout), len(c.Generated), p.Len,
		c.Facets.Mined != nil)
	if p.Distinct < 4096 || len(c.Holdout) < 1000 || p.ASCII < 0.9 || c.Facets.Mined == nil || len(c.Generated) < 500 ||
		c.GeneratedOnly {
		t.Errorf("facets %+v", c.Facets.Params[0])
	}
}
