package flow

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

// A handed version is what a person or an agent wrote, as a candidate.
type handed struct {
	beagle.Candidate
	name    string // of the file, or what it is called
	written string
	whole   string // with what was completed from the original, below what was written
}

// inCanonical is where the checks that read a version say that something is.
var inCanonical = regexp.MustCompile(`(?m)^line (\d+): `)

// placed words a verdict for who wrote the version: with the lines of that file,
// not of the text that it was formatted to.
func (h *handed) placed(v *beagle.Verdict) *beagle.Verdict {
	if v.OK() || !inCanonical.MatchString(v.Reason) {
		return v
	}
	lines, most := source.Lines(h.Source, h.whole), 1+strings.Count(strings.TrimRight(h.written, "\n"), "\n")
	v.Reason = inCanonical.ReplaceAllStringFunc(v.Reason, func(at string) string {
		n, err := strconv.Atoi(inCanonical.FindStringSubmatch(at)[1])
		if err != nil {
			return at
		}
		if h.Source != h.written {
			n = nearest(lines, n)
		}
		switch {
		case n == 0 || n > most: // of what was completed from the original
			return h.name + ": "
		case filepath.Ext(h.name) == "": // no file
			return fmt.Sprintf("line %d: ", n)
		}
		return fmt.Sprintf("%s:%d: ", h.name, n)
	})
	return v
}

// nearest is where a line comes from, or else the nearest line above on which
// something begins; 0 when there is none.
func nearest(lines map[int]int, n int) int {
	for ; n > 0; n-- {
		if from := lines[n]; from != 0 {
			return from
		}
	}
	return 0
}

// ReadSource is the part of [Activities.JudgeSource] that needs no inputs, before
// they are recorded: a version that cannot be one is refused within a second.
// Prepare goes on from where it stands.
func (a *Activities) ReadSource(ctx context.Context, run string, spec Spec, text, name string) (*beagle.Verdict, error) {
	x, err := a.begin(ctx, run, spec)
	if err != nil {
		return nil, err
	}
	x.waiting = true
	return x.verifier.survive(text, func() (*beagle.Verdict, error) {
		h := x.door.hand(text, name)
		v, err := verify.Static(ctx, &verify.Env{Unit: x.unit}, h.Candidate, nil)
		if err != nil {
			return nil, err
		}
		return h.placed(v), nil
	})
}

// JudgeSource gives a hand-written version the verdict that a search would
// give its winner.
func (a *Activities) JudgeSource(ctx context.Context, run, text, name string) (*beagle.Verdict, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.verifier.survive(text, func() (*beagle.Verdict, error) { return x.judge.judgeSource(ctx, text, name) })
}
