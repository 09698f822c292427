package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

// A groupEntry is a function of a group that others call, with a corpus of its own. Beagle compares
// a version of the group with the original on the entry's calls too, beside the tests in place.
type groupEntry struct {
	name   string
	lab    *lab
	inputs *inputs
}

// maxEntries bounds the functions of a group whose calls are recorded: each takes a run of the
// tests, and a program for each batch.
const maxEntries = 6

// A Recorded is the corpus of an entry, as a run keeps it.
type Recorded struct {
	Name       string `json:"name"`
	CorpusBlob string `json:"corpus_blob"`
}

// record makes the corpora of the group's entries, some of them from files. A function whose calls
// cannot be recorded, or show nothing, is left to the tests in place, unless the user gave calls of
// it or a condition.
func (x *inPlaceEvidence) record(ctx context.Context, files map[string]string) (out []Recorded, err error) {
	var names, others []string // functions that the user gave calls or conditions for come first
	for _, name := range x.lab.unit.Scope.Recordable() {
		if files[name] != "" || x.lab.unit.Conditions.Demanded(name) {
			names = append(names, name)
		} else {
			others = append(others, name)
		}
	}
	most := max(maxEntries, len(names))
	if names = append(names, others...); len(names) > most {
		x.watch.Warn(fmt.Sprintf("calls of %d functions are recorded; the tests in place alone judge single calls of "+
			"%s", most, strings.Join(names[most:], ", ")))
		names = names[:most]
	}
	// Record each function. A failure ends the run only if the user asked for this function.
	for _, name := range names {
		e, err := x.entry(ctx, name, files[name])
		var blob string
		if err == nil {
			blob, err = e.record(ctx)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil, files[name] != "", errors.Is(err, corpus.ErrViolated):
			return nil, err
		case x.lab.unit.Conditions.Demanded(name):
			return nil, usage(fmt.Sprintf("--requires: no call of %s is recorded by itself: %s", name, reasonOf(err)),
				"name the function that the condition is about, as in --requires 'NAME: CONDITION', or leave it out")
		default:
			x.watch.Note("record", fmt.Sprintf("no calls of %s by themselves: %s", name, reasonOf(err)))
			continue
		}
		x.entries = append(x.entries, e)
		out = append(out, Recorded{name, blob})
		found := x.place.Evidence()
		found.Recorded = append(found.Recorded, name)
	}
	return out, nil
}

// files returns the corpora that the user gave, by function of the group.
func (x *inPlaceEvidence) files(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, g := range x.spec.givenCorpora() {
		name := g.function
		why, err := "", error(nil)
		if name == "" {
			name, err = x.holder(ctx, g.path)
		} else {
			why, err = x.lab.unit.Scope.Unrecorded(name)
		}
		switch {
		case err != nil:
			return nil, err
		case why != "":
			return nil, usage(fmt.Sprintf("--corpus %s=%s: no version is judged on single calls of %[1]s: %s", name,
				g.path, why), noCalls)
		case out[name] != "":
			return nil, usage(fmt.Sprintf("--corpus gives calls of %s twice, in %s and %s", name, out[name], g.path),
				"put the records into one file")
		}
		out[name] = g.path
	}
	return out, nil
}

// noCalls is the remedy when recorded calls cannot judge versions of a group.
const noCalls = "leave --corpus out, and write a test that makes these calls: whole runs of the tests are compared"

// holder returns the only function of the group whose calls a file may hold.
func (x *inPlaceEvidence) holder(ctx context.Context, path string) (string, error) {
	names := x.lab.unit.Scope.Recordable()
	if len(names) == 0 {
		return "", usage(fmt.Sprintf("--corpus %s: no version of %s is judged on single calls: %s", path,
			x.lab.unit.Target.Spec(), x.lab.unit.Scope.NoneRecorded()), noCalls)
	}
	var fits []string
	var bad error
	// Try which functions the records fit.
	for _, name := range names {
		u, err := x.loadEntry(ctx, name)
		if err == nil {
			_, err = corpus.Load(u, path)
		}
		if err == nil {
			fits = append(fits, name)
		}
		bad = cmp.Or(bad, err)
	}
	switch len(fits) {
	case 0:
		return "", bad
	case 1:
		return fits[0], ctx.Err()
	}
	return "", usage(fmt.Sprintf("--corpus %s: the records may be calls of %s", path, strings.Join(fits, " and of ")),
		fmt.Sprintf("name their function: --corpus %s=%s", fits[0], path))
}

// recall takes up the corpora that record made in another process.
func (x *inPlaceEvidence) recall(ctx context.Context, ready *Prepared) error {
	x.entries, x.place.Evidence().Recorded = nil, ready.InPlace.Recorded
	for _, r := range ready.Recorded {
		e, err := x.entry(ctx, r.Name, "")
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

// loadEntry loads a function of the group as a target of its own, whose versions are those of the
// group.
func (x *inPlaceEvidence) loadEntry(ctx context.Context, name string) (*source.Unit, error) {
	load := x.load()
	load.Entry = name
	u, err := source.Load(ctx, load)
	if err == nil {
		err = u.Unrecordable
	}
	return u, err
}

// entry prepares the judgement of versions on calls of one function: those of a file, if there is
// one.
func (x *inPlaceEvidence) entry(ctx context.Context, name, file string) (*groupEntry, error) {
	u, err := x.loadEntry(ctx, name)
	if err != nil {
		return nil, err
	}
	l := &lab{
		unit: u, root: beagle.NewCandidate(u.Target.Source, nil, nil), box: x.lab.box, ahead: func() {},
		dir: filepath.Join(x.lab.dir, "entry-"+name), brief: x.lab.brief,
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return nil, err
	}
	apart := x.setting
	apart.unit, apart.lab = u, l
	return &groupEntry{name, l, &inputs{setting: apart, file: file}}, nil
}

// record makes the corpus of an entry, and returns its name in the store.
func (e *groupEntry) record(ctx context.Context) (blob string, err error) {
	in, err := e.inputs.collect(ctx)
	if err != nil {
		return "", err
	}
	bin, err := e.lab.buildOriginal(ctx)
	if err != nil {
		return "", err
	}
	_, blob, err = e.inputs.compose(ctx, bin, e.inputs.gather(in))
	return blob, err
}

// full gives a version every check on the recorded calls of an entry, and enters the result in v.
func (e *groupEntry) full(ctx context.Context, v *beagle.Verdict, c beagle.Candidate, fuzz time.Duration) error {
	if fuzz == 0 {
		fuzz = -1 // leaves it out
	}
	own, err := verify.Full(ctx, e.lab.verify, e.joinCopies(c), e.inputs.corpus(), verify.Budget{Fuzz: fuzz})
	if err != nil {
		return err
	}
	e.mergeVerdict(v, own)
	if a := own.Assurance; a != nil && v.Assurance != nil {
		v.Assurance.Inputs += a.Inputs
		for _, what := range a.NotChecked {
			v.Assurance.NotChecked = append(v.Assurance.NotChecked, "of "+e.name+": "+what)
		}
		if by := e.lab.unit.Copies.Detours(); len(by) > 0 {
			v.Assurance.NotChecked = append(v.Assurance.NotChecked, "of "+e.name+": calls of the group's functions by "+
				"way of "+strings.Join(by, ", ")+", which run the original's")
		}
	}
	return nil
}

// mergeVerdict enters the verdict on an entry's calls into that on the group.
func (e *groupEntry) mergeVerdict(v, own *beagle.Verdict) {
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
		found.Args = nil // arguments of the entry alone are no inputs of the group
		v.Counterexample = &found
	}
}

// An entryProgram is a program of the original and candidates in which an entry is called.
type entryProgram struct {
	*groupEntry
	bin      *harness.Binary
	versions []beagle.Candidate // joined, from version 1 on
	spoilt   map[int]*verify.Rejection
}

// joinCopies returns a version as the programs of an entry hold it: with copies of what leads from
// the group back to it.
func (e *groupEntry) joinCopies(c beagle.Candidate) beagle.Candidate {
	c.Source = e.lab.unit.Copies.JoinCopies(c.Source)
	return c
}

// assemble builds candidates for the calls of an entry.
func (e *groupEntry) assemble(ctx context.Context, cs []beagle.Candidate) (*entryProgram, error) {
	all := make([]beagle.Candidate, len(cs))
	for i, c := range cs {
		all[i] = e.joinCopies(c)
	}
	bin, spoilt, err := verify.Build(ctx, e.lab.verify, all, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	return &entryProgram{e, bin, all, spoilt}, nil
}

// quick compares a version on the calls of the entry, and enters the result in v.
func (t *entryProgram) quick(ctx context.Context, v *beagle.Verdict, version int) error {
	if why, failed := t.bin.Failed[version]; failed {
		t.mergeVerdict(v, &beagle.Verdict{Status: beagle.Invalid, Stage: "compile", Reason: why})
		return nil
	}
	if f := t.spoilt[version-1]; f != nil {
		t.mergeVerdict(v, &beagle.Verdict{Status: f.Status, Stage: f.Stage, Reason: f.Reason})
		return nil
	}
	own, err := verify.Quick(ctx, t.lab.verify, t.bin, version, t.versions[version-1], t.inputs.corpus())
	if err == nil {
		t.mergeVerdict(v, own)
	}
	return err
}
