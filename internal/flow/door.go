package flow

import (
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// The door is where source text from outside comes in.
type door struct {
	unit *source.Unit
	root beagle.Candidate
}

// hand makes a candidate of a text; name is the file's, or what to call it.
func (d *door) hand(text, name string) handed {
	h := handed{name: name, written: text, whole: d.unit.Complete(text)}
	if formatted, err := d.unit.Normalize(h.whole); err == nil {
		text = formatted // otherwise the parse check says what is wrong
	}
	h.Candidate = beagle.NewCandidate(text, []string{d.root.ID}, nil)
	h.Note = name
	return h
}

// written makes a candidate of an entry.
func (d *door) written(e Entry) beagle.Candidate {
	text := e.Source
	if formatted, err := d.unit.Normalize(text); err == nil {
		text = formatted // otherwise the parse check says what is wrong
	}
	c := beagle.NewCandidate(text, []string{d.root.ID}, nil)
	c.Note = e.Name
	return c
}

// admitted completes and reads a text from outside, or says why it is no
// candidate.
func (d *door) admitted(text string) (string, *source.File, *beagle.Verdict) {
	refuse := func(stage, reason string, line int) (string, *source.File, *beagle.Verdict) {
		if line > 0 {
			reason = fmt.Sprintf("line %d: %s", line, reason)
		}
		return "", nil, &beagle.Verdict{Status: beagle.Invalid, Stage: stage, Reason: reason}
	}
	if why := outsized(text); why != "" {
		return refuse("parse", why, 0)
	}
	if formatted, err := d.unit.Normalize(d.unit.Complete(text)); err == nil {
		text = formatted // otherwise reading it says what is wrong
	}
	if why := outsized(text); why != "" {
		return refuse("parse", why, 0)
	}
	f, problem := d.unit.Parse(text)
	if problem != nil {
		return refuse(problem.Stage, problem.Message, problem.Line)
	}
	return text, f, nil
}

// compiles parses and type-checks a text, or says what is wrong in the words
// of a compiler.
func (d *door) compiles(text string) (*source.File, string) {
	if why := outsized(text); why != "" {
		return nil, why
	}
	f, problem := d.unit.Parse(text)
	if problem != nil {
		return nil, compilerWords(problem.Message, problem.Line, text)
	}
	return f, ""
}
