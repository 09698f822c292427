package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/store"
)

const actionsName = "turns"

// A head describes the run of a recording.
type head struct {
	Prepared flow.Prepared  `json:"prepared"` // the state that the search started from: prompts quote its profile
	Machine  beagle.Machine `json:"machine"`
}

// actions is the journal of a run's actions, those that are to be taken again
// first.
type actions struct {
	pending  []loop.Action // not taken yet in this process
	ownCount int           // of them, those that the run's own journal has
	taken    int
	journal  *store.Journal
	record   *store.Journal // a copy with the verdicts; nil when nothing is recorded
	recorded int            // actions in it: never more than in the journal
}

// openActions continues a run's journal after the actions that its checkpoint
// holds.
func (r *run) openActions() (*actions, error) {
	all, err := store.ReadJournal[loop.Action](r.d.Store, r.entry.ID, actionsName)
	if err != nil {
		return nil, err
	}
	t := &actions{taken: r.course.Search.Mark}
	if t.taken > len(all) {
		return nil,
			fmt.Errorf("run %s: its checkpoint has %d actions, its journal turns.jsonl %d", r.entry.ID,
				t.taken, len(all))
	}
	t.pending, t.ownCount = all[t.taken:], len(all)-t.taken
	if t.journal, err = r.d.Store.Journal(r.entry.ID, actionsName); err != nil {
		return nil, err
	}
	m := &r.spec.Models
	switch {
	case m.Replay != "":
		return t, r.replay(t, len(all))
	case m.Record != "":
		return t, t.recordInto(m.Record, r.head(), all)
	}
	return t, nil
}

// recordInto begins a recording, or goes on with it. The recording is written after the journal, so
// it lacks actions after a sudden end or on a full disk. Those are taken again, and added with
// their verdicts.
func (t *actions) recordInto(dir string, h head, all []loop.Action) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &beagle.UsageError{What: "--record: " + err.Error(), Remedy: "give a directory that can be written to"}
	}
	path := filepath.Join(dir, actionsName+".jsonl")
	if _, err := os.Stat(path); err == nil && len(all) == 0 {
		return &beagle.UsageError{
			What:   "--record: " + dir + " holds a recording already",
			Remedy: "give another directory, or remove it",
		}
	}
	var err error
	if t.record, err = store.OpenJournal(path); err != nil {
		return err
	}
	lines, err := cutLines(path, 1+len(all))
	if err != nil {
		return err
	}
	if lines == 0 {
		if err := t.record.Append(h); err != nil {
			return err
		}
		lines = 1
	}
	for t.recorded = lines - 1; t.recorded < t.taken; t.recorded++ { // before the checkpoint, and so not taken again
		if err := t.record.Append(all[t.recorded]); err != nil {
			return err
		}
	}
	return nil
}

// cutLines cuts a file to this many lines, if it has more, and returns its number of lines.
func cutLines(path string, most int) (n int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	end := 0
	for ; n < most; n++ {
		next := bytes.IndexByte(data[end:], '\n')
		if next < 0 {
			return n, nil
		}
		end += next + 1
	}
	return n, os.Truncate(path, int64(end))
}

// close closes the files.
func (t *actions) close() error {
	err := t.journal.Close()
	if t.record != nil {
		err = errors.Join(err, t.record.Close())
	}
	return err
}

// note writes an action down before it is taken.
func (t *actions) note(x loop.Action) error {
	short := x
	if x.Telling != nil {
		// the store has the verdicts
		short.Telling = &loop.Telling{Took: x.Telling.Took, Evaluating: x.Telling.Evaluating}
	}
	if err := t.journal.Append(short); err != nil {
		return err
	}
	if x.Begin != nil && len(x.Begin.Guests) > 0 { // the inbox will not keep them
		if err := t.journal.Sync(); err != nil {
			return err
		}
	}
	t.taken++
	return t.addToRecording(x)
}

// addToRecording adds an action that was taken to the recording, unless it is there.
func (t *actions) addToRecording(x loop.Action) error {
	if t.record == nil || t.recorded >= t.taken {
		return nil
	}
	if err := t.record.Append(x); err != nil {
		return &beagle.UsageError{
			What:   fmt.Sprintf("--record: %v", err),
			Remedy: "make room, or make the directory writable, and go on with the run",
		}
	}
	t.recorded++
	return nil
}

// next returns the next of the actions that were taken before.
func (t *actions) next() (loop.Action, error) {
	x := t.pending[0]
	t.pending = t.pending[1:]
	if t.ownCount > 0 {
		t.ownCount--
		t.taken++
		if x.Telling != nil {
			return x, nil // the caller has the verdicts, and keeps it
		}
		return x, t.addToRecording(x)
	}
	return x, t.note(x)
}

// head returns the description of this run.
func (r *run) head() head {
	return head{Prepared: *r.ready, Machine: r.acts.Machine(r.entry.ID)}
}

// recorded takes over the prepared state of a recorded search, so that this one starts from the
// same.
func (r *run) recorded(ctx context.Context) error {
	path := filepath.Join(r.spec.Models.Replay, actionsName+".jsonl")
	h, _, err := readRecording(path)
	if err != nil {
		return &beagle.UsageError{
			What:   fmt.Sprintf("--replay: %v", err),
			Remedy: "give a directory that --record has written",
		}
	}
	if h.Prepared.Target != r.ready.Target || h.Prepared.Corpus != r.ready.Corpus {
		return &beagle.UsageError{
			What:   "--replay: the recording is of another version of the function or of other inputs",
			Remedy: "restore them, or search anew",
		}
	}
	r.ready, err = r.acts.StartFrom(ctx, r.entry.ID, h.Prepared)
	return err
}

// replay reads the actions of a recording that the run's own journal does not
// have yet, and puts its verdicts where an evaluation would find them, if they
// are of this kind of machine.
func (r *run) replay(t *actions, have int) error {
	h, all, err := readRecording(filepath.Join(r.spec.Models.Replay, actionsName+".jsonl"))
	if err != nil {
		return err
	}
	mine := r.head()
	for i := range all {
		if all[i].Telling == nil {
			continue
		}
		if h.Machine == mine.Machine {
			if err := r.acts.Adopt(context.Background(), r.entry.ID, all[i].Telling.Evaluated); err != nil {
				return err
			}
		}
		all[i].Telling.Evaluated = nil
	}
	if h.Machine != mine.Machine {
		r.d.Watch.Warn("the recording is from another kind of machine: its versions are measured anew, and the " +
			"search may take another way")
	}
	t.pending = append(t.pending, all[min(have, len(all)):]...)
	return nil
}

// readRecording reads a recording's head and actions.
func readRecording(path string) (h head, all []loop.Action, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, nil, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	if err := d.Decode(&h); err != nil {
		return h, nil, fmt.Errorf("%s: %w", path, err)
	}
	for {
		var x loop.Action
		switch err := d.Decode(&x); {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // its process was killed while it wrote
			return h, all, nil
		case err != nil:
			return h, nil, fmt.Errorf("%s: action %d: %w", path, len(all)+1, err)
		}
		all = append(all, x)
	}
}
