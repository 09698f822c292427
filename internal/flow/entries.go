package flow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

// An entry is a function of a group that others call, with a corpus of its own: a version of the
// group is compared with the original on its calls, too, beside the tests in place.
type entry struct {
	name   string
	lab    *lab
	inputs *inputs
}

// mostEntries bounds the functions of a group whose calls are recorded: each takes a run of the
// tests, and a program for each batch.
const mostEntries = 6

// A Recorded is the corpus of an entry, as a run keeps it.
type Recorded struct {
	Name       string `json:"name"`
	CorpusBlob string `json:"corpus_blob"`
}

// record makes the corpora of the group's entries. A function whose calls cannot be recorded, or
// say nothing, is left to the tests in place.
func (x *inPlace) record(ctx context.Context) error {
	names := x.unit.Recordable()
	if len(names) > mostEntries {
		x.watch.Warn(fmt.Sprintf("calls of %d functions are recorded; the tests in place alone judge single calls of "+
			"%s", mostEntries, strings.Join(names[mostEntries:], ", ")))
		names = names[:mostEntries]
	}
	for _, name := range names {
		e, err := x.entry(ctx, name)
		if err == nil {
			err = e.record(ctx)
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			x.watch.Stage("record", fmt.Sprintf("no calls of %s by themselves: %s", name, reasonOf(err)))
			continue
		}
		x.entries = append(x.entries, e)
		x.ready.Recorded = append(x.ready.Recorded, Recorded{name, e.inputs.ready.CorpusBlob})
		x.ready.InPlace.Recorded = append(x.ready.InPlace.Recorded, name)
	}
	return nil
}

// recall takes up the corpora that record made in another process.
func (x *inPlace) recall(ctx context.Context) error {
	x.entries, x.place.Evidence().Recorded = nil, x.ready.InPlace.Recorded
	for _, r := range x.ready.Recorded {
		e, err := x.entry(ctx, r.Name)
		if err != nil {
			return err
		}
		c := new(beagle.Corpus)
		if err := errors.Join(x.works.store.GetJSON(r.CorpusBlob, c), e.lab.equip(ctx)); err != nil {
			return err
		}
		e.inputs.hold(c, 0)
		x.entries = append(x.entries, e)
	}
	return nil
}

// entry loads a function of the group as a target of its own, whose versions are those of the
// group.
func (x *inPlace) entry(ctx context.Context, name string) (*entry, error) {
	load := x.spec.load()
	load.Entry = name
	u, err := source.Load(ctx, load)
	if err == nil {
		err = u.Unrecordable
	}
	if err != nil {
		return nil, err
	}
	l := &lab{
		unit: u, root: beagle.NewCandidate(u.Target.Source, nil, nil), box: x.lab.box, ahead: func() {},
		dir: filepath.Join(x.lab.dir, "entry-"+name),
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return nil, err
	}
	in := &inputs{spec: &x.spec, watch: x.watch, unit: u, works: x.works, lab: l, ready: new(Prepared)}
	return &entry{name, l, in}, nil
}

// record makes the corpus of an entry.
func (e *entry) record(ctx context.Context) error {
	in, err := e.inputs.collect(ctx)
	if err != nil {
		return err
	}
	if err := e.lab.equip(ctx); err != nil {
		return err
	}
	bin, err := e.lab.beside(ctx, harness.Link{FuncAlign: 64})
	if err != nil {
		return err
	}
	e.lab.verify.Alone = bin
	_, err = e.inputs.compose(ctx, bin, in)
	return err
}

// full gives a version every check on the recorded calls of an entry. What it finds goes into v.
func (e *entry) full(ctx context.Context, v *beagle.Verdict, c beagle.Candidate, fuzz time.Duration) error {
	if fuzz == 0 {
		fuzz = -1 // leaves it out
	}
	own, err := verify.Full(ctx, e.lab.verify, c, e.inputs.corpus(), verify.Budget{Fuzz: fuzz})
	if err != nil {
		return err
	}
	e.into(v, own)
	if a := own.Assurance; a != nil && v.Assurance != nil {
		v.Assurance.Inputs += a.Inputs
		for _, what := range a.NotChecked {
			v.Assurance.NotChecked = append(v.Assurance.NotChecked, "of "+e.name+": "+what)
		}
	}
	return nil
}

// into enters the verdict on an entry's calls into that on the group.
func (e *entry) into(v, own *beagle.Verdict) {
	for _, check := range own.Checks {
		check.Note = strings.TrimSuffix("calls of "+e.name+"; "+check.Note, "; ")
		v.Checks = append(v.Checks, check)
	}
	v.Warnings = append(v.Warnings, own.Warnings...)
	if own.OK() {
		return
	}
	v.Status, v.Stage, v.Reason = own.Status, own.Stage, e.name+": "+own.Reason
	if own.Counterexample != nil {
		found := *own.Counterexample
		found.Args = nil // they are those of the entry alone, and no inputs of the group
		v.Counterexample = &found
	}
}

// An entryTrial is a program of the original and candidates in which an entry is called.
type entryTrial struct {
	*entry
	bin    *harness.Binary
	spoilt map[int]*verify.Finding
}

// trial builds candidates for the calls of an entry.
func (e *entry) trial(ctx context.Context, cs []beagle.Candidate) (*entryTrial, error) {
	bin, spoilt, err := verify.Build(ctx, e.lab.verify, cs, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	return &entryTrial{e, bin, spoilt}, nil
}

// quick compares a version on the calls of the entry. What it finds goes into v.
func (t *entryTrial) quick(ctx context.Context, v *beagle.Verdict, version int, c beagle.Candidate) error {
	if why, failed := t.bin.Failed[version]; failed {
		t.into(v, &beagle.Verdict{Status: beagle.Invalid, Stage: "compile", Reason: why})
		return nil
	}
	if f := t.spoilt[version-1]; f != nil {
		t.into(v, &beagle.Verdict{Status: f.Status, Stage: f.Stage, Reason: f.Reason})
		return nil
	}
	own, err := verify.Quick(ctx, t.lab.verify, t.bin, version, c, t.inputs.corpus())
	if err == nil {
		t.into(v, own)
	}
	return err
}
