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

// The door admits source text from outside: hand-ins of people and agents, entries of a suite, and
// models' replies. A text that passes is a candidate; the verifier decides whether it behaves.
type door struct {
	unit *source.Unit
	root beagle.Candidate
}

// An extent says how much of a candidate file a text from outside holds.
type extent bool

const (
	partial extent = false // the text may leave out unchanged parts of the original
	entire  extent = true  // the text is whole: a model edits the whole file of its parent
)

// An arrival is a text from outside after it was admitted or refused.
type arrival struct {
	beagle.Candidate              // of the canonical text, or of the text as it came if there is none
	text             string       // as it came
	whole            string       // the text, followed by the parts that were completed from the original
	file             *source.File // nil when the text is refused

	problem   *source.Problem // why it is refused
	malformed error           // why it has no canonical form
	unread    bool            // the text is too long or too deep to be read
}

// admit makes a candidate of a text from outside, or records why it cannot. It bounds the size and
// the nesting before anything that recurses reads the text. Then it completes the text, brings it
// into canonical form, and checks the syntax, the scope, the size beside the original, the types
// and the signature.
func (d *door) admit(text string, much extent) *arrival {
	a := &arrival{text: text, whole: text}
	if a.bounded(text) {
		if much == partial {
			a.whole = d.unit.Reader.Complete(text)
		}
		var canonical string
		if canonical, a.malformed = d.unit.Reader.Normalize(a.whole); a.malformed == nil {
			text = canonical // otherwise reading the text finds the fault
		}
		if a.bounded(text) {
			a.file, a.problem = d.unit.Reader.Parse(text)
		}
	}
	a.Candidate = beagle.NewCandidate(text, []string{d.root.ID}, nil)
	return a
}

// bounded refuses a text that is too long or too deep.
func (a *arrival) bounded(text string) bool {
	if why := outsized(text); why != "" {
		a.problem, a.unread = &source.Problem{Stage: parsing, Message: why}, true
	}
	return !a.unread
}

// parsing is the stage that refuses a text which is no Go file, or too long or too deep to be read
// as one.
const parsing = "parse"

// refusal returns the verdict that refuses a text, or nil for a candidate.
func (a *arrival) refusal() *beagle.Verdict {
	if a.problem == nil {
		return nil
	}
	reason := a.problem.Message
	if a.problem.Line > 0 {
		reason = fmt.Sprintf("line %d: %s", a.problem.Line, reason)
	}
	return &beagle.Verdict{Status: beagle.Invalid, Stage: a.problem.Stage, Reason: reason}
}

// complaint returns in a compiler's words why the text is refused, or "" for a candidate.
func (a *arrival) complaint() string {
	switch {
	case a.malformed != nil:
		return a.malformed.Error()
	case a.problem == nil:
		return ""
	}
	return compilerWords(a.problem.Message, a.problem.Line, a.Source)
}

// oversized returns the verdict on a text that is too large or too deep to be read any further, or
// nil.
func (d *door) oversized(a *arrival) *beagle.Verdict {
	if !a.unread {
		return nil
	}
	v := a.refusal()
	v.Candidate, v.Contract = a.ID, d.unit.Target.Contract
	v.Checks = []beagle.CheckResult{{Name: parsing}}
	return v
}

// static gives an arrival the checks that need no inputs: the refusal of admit, and the policy. The
// policy allows more where the evidence comes from the user's tests, or may yet.
func (d *door) static(ctx context.Context, a *arrival, inPlace bool) (*beagle.Verdict, error) {
	if v := d.oversized(a); v != nil {
		return v, nil
	}
	return verify.Static(ctx, &verify.Env{Unit: d.unit, InPlace: inPlace}, a.Candidate, nil)
}

// inCanonical finds the line numbers in the messages of the checks.
var inCanonical = regexp.MustCompile(`(?m)^line (\d+): `)

// mapLines rewrites the lines that a verdict names, from the formatted text to the author's own
// file.
func (a *arrival) mapLines(v *beagle.Verdict, name string) *beagle.Verdict {
	if v.OK() || !inCanonical.MatchString(v.Reason) {
		return v
	}
	lines, most := source.Lines(a.Source, a.whole), 1+strings.Count(strings.TrimRight(a.text, "\n"), "\n")
	v.Reason = inCanonical.ReplaceAllStringFunc(v.Reason, func(at string) string {
		n, err := strconv.Atoi(inCanonical.FindStringSubmatch(at)[1])
		if err != nil {
			return at
		}
		if a.Source != a.text {
			n = nearestLine(lines, n)
		}
		switch {
		case n == 0 || n > most: // the line is in a part that was completed from the original
			return name + ": "
		case filepath.Ext(name) == "": // no file
			return fmt.Sprintf("line %d: ", n)
		}
		return fmt.Sprintf("%s:%d: ", name, n)
	})
	return v
}

// nearestLine returns the line of the author's file that a formatted line comes from, or the
// nearest known one above it; 0 if there is none.
func nearestLine(lines map[int]int, n int) int {
	for ; n > 0; n-- {
		if from := lines[n]; from != 0 {
			return from
		}
	}
	return 0
}
