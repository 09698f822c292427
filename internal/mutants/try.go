package mutants

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/parallel"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

// A Function is a target with all that its judge needs: inputs recorded from
// its own tests, as for any search.
type Function struct {
	env    *verify.Env
	corpus *beagle.Corpus
}

// Open loads a function and records what its tests call. dir is for scratch
// files; limit bounds the recording.
func Open(ctx context.Context, root, spec, dir string, limit time.Duration) (*Function, error) {
	u, err := source.Load(ctx, source.Options{Dir: root, Spec: spec})
	if err != nil {
		return nil, err
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"build", "corpus", "verify"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	b, err := harness.NewBuilder(ctx, u, box, filepath.Join(dir, "build"))
	if err != nil {
		return nil, err
	}
	captured, err := corpus.Capture(ctx, u, box, filepath.Join(dir, "corpus"), corpus.CaptureOptions{Budget: limit})
	if err != nil {
		return nil, err
	}
	built, err := corpus.Build(ctx, u, b, box, corpus.Input{Captured: captured, Seed: 1})
	if err != nil {
		return nil, err
	}
	env := &verify.Env{Unit: u, Builder: b, Box: box, Dir: filepath.Join(dir, "verify")}
	return &Function{env: env, corpus: built.Corpus}, nil
}

// Source returns the original's text.
func (f *Function) Source() string { return f.env.Unit.Target.Source }

// A Status is the outcome of a mutant.
type Status string

const (
	NoVersion Status = "no version" // it does not compile, or is not a version of the function
	SameCode  Status = "same code"  // the compiler makes the same machine code of it: it is equivalent
	Rejected  Status = "rejected"   // the judge found a difference
	Survived  Status = "survived"   // the judge found none
)

// A Result is the judge's verdict on one text.
type Result struct {
	ID      string         `json:"id"` // of the candidate
	Status  Status         `json:"fate"`
	Verdict beagle.Verdict `json:"verdict"`
}

// textsAtOnce is the number of texts that share a program.
const textsAtOnce = 24

// Try takes texts through the real verification. Those of one batch share one program: each goes
// through the static and the quick checks, and the survivors through the full ladder. base is the
// version that the texts were made from.
func (f *Function) Try(ctx context.Context, base string, texts []string, b verify.Budget) ([]Result, error) {
	out := make([]Result, len(texts))
	for start := 0; start < len(texts); start += textsAtOnce {
		end := min(start+textsAtOnce, len(texts))
		if err := f.batch(ctx, base, texts[start:end], out[start:end]); err != nil {
			return nil, err
		}
	}
	err := parallel.Do(len(texts), func(i int) error {
		if out[i].Status != Survived {
			return nil
		}
		v, err := verify.Full(ctx, f.env, beagle.NewCandidate(texts[i], nil, nil), f.corpus, b)
		if err != nil {
			return fmt.Errorf("%s: %w", out[i].ID, err)
		}
		out[i].enterVerdict(v)
		return nil
	})
	return out, err
}

// enterVerdict enters a verdict.
func (t *Result) enterVerdict(v *beagle.Verdict) {
	t.Verdict = *v
	switch {
	case v.OK():
		t.Status = Survived
	case v.Status == beagle.Invalid:
		t.Status = NoVersion
	default:
		t.Status = Rejected
	}
}

// batch gives texts the checks that need no program of their own.
func (f *Function) batch(ctx context.Context, base string, texts []string, out []Result) error {
	cands := []beagle.Candidate{beagle.NewCandidate(base, nil, nil)}
	var at []int
	for i, text := range texts {
		c := beagle.NewCandidate(text, nil, nil)
		v, err := verify.Static(ctx, f.env, c, f.corpus)
		if err != nil {
			return err
		}
		out[i].ID = c.ID
		out[i].enterVerdict(v)
		if v.OK() {
			cands, at = append(cands, c), append(at, i)
		}
	}
	bin, spoilt, err := verify.Build(ctx, f.env, cands, harness.Link{FuncAlign: 64})
	if err != nil {
		return err
	}
	defer bin.Remove()
	return parallel.Do(len(at), func(k int) error {
		t, idx := &out[at[k]], k+2 // 0 is the original and 1 the base
		switch code := bin.Static[idx].CodeHash; {
		case bin.Failed[idx] != "":
			t.Status = NoVersion
			return nil
		case spoilt[idx-1] != nil:
			t.Status, t.Verdict.Stage, t.Verdict.Reason = Rejected, spoilt[idx-1].Stage, spoilt[idx-1].Reason
			return nil
		case code != "" && (code == bin.Static[0].CodeHash || code == bin.Static[1].CodeHash):
			t.Status = SameCode
			return nil
		}
		v, err := verify.Quick(ctx, f.env, bin, idx, cands[k+1], f.corpus)
		if err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		t.enterVerdict(v)
		return nil
	})
}
