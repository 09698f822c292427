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

const turnsName = "turns"

// A head says what a recording is of.
type head struct {
	Prepared flow.Prepared  `json:"prepared"` // what the search started from: prompts quote its profile
	Machine  beagle.Machine `json:"machine"`
}

// turns is the journal of a run's turns, those that are to be taken again
// first.
type turns struct {
	again   []loop.Turn // not taken yet in this process
	own     int         // of them, those that the run's own journal has
	taken   int
	journal *store.Journal
	record  *store.Journal // a copy with the verdicts; nil when nothing is recorded
	kept    int            // turns in it: never more than in the journal
}

// openTurns continues a run's journal after the turns that its checkpoint
// holds.
func (r *run) openTurns() (*turns, error) {
	all, err := store.ReadJournal[loop.Turn](r.d.Store, r.entry.ID, turnsName)
	if err != nil {
		return nil, err
	}
	t := &turns{taken: r.course.Search.Mark}
	if t.taken > len(all) {
		return nil, fmt.Errorf("run %s: its checkpoint has %d turns, its journal %d", r.entry.ID, t.taken, len(all))
	}
	t.again, t.own = all[t.taken:], len(all)-t.taken
	if t.journal, err = r.d.Store.Journal(r.entry.ID, turnsName); err != nil {
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

// recordInto begins a recording, or goes on with it. It is written after the
// journal, so that it lacks what a sudden end, or a full disk, kept from it: turns
// that are taken again are added then, with their verdicts.
func (t *turns) recordInto(dir string, h head, all []loop.Turn) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &beagle.UsageError{What: "--record: " + err.Error(), Remedy: "give a directory that can be written to"}
	}
	path := filepath.Join(dir, turnsName+".jsonl")
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
	for t.kept = lines - 1; t.kept < t.taken; t.kept++ { // before the checkpoint, and so not taken again
		if err := t.record.Append(all[t.kept]); err != nil {
			return err
		}
	}
	return nil
}

// cutLines cuts a file after so many lines, if it has more, and says how many it
// has then.
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
func (t *turns) close() error {
	err := t.journal.Close()
	if t.record != nil {
		err = errors.Join(err, t.record.Close())
	}
	return err
}

// note writes a turn down before it is taken.
func (t *turns) note(x loop.Turn) error {
	short := x
	if x.Told != nil {
		short.Told = &loop.Told{Took: x.Told.Took, Judging: x.Told.Judging} // the store has the verdicts
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
	return t.keep(x)
}

// keep adds a turn that was taken to the recording, unless it is there.
func (t *turns) keep(x loop.Turn) error {
	if t.record == nil || t.kept >= t.taken {
		return nil
	}
	if err := t.record.Append(x); err != nil {
		return &beagle.UsageError{
			What:   fmt.Sprintf("--record: %v", err),
			Remedy: "make room, or make the directory writable, and go on with the run",
		}
	}
	t.kept++
	return nil
}

// next is the next of the turns that were taken before.
func (t *turns) next() (loop.Turn, error) {
	x := t.again[0]
	t.again = t.again[1:]
	if t.own > 0 {
		t.own--
		t.taken++
		if x.Told != nil {
			return x, nil // who has the verdicts again keeps it
		}
		return x, t.keep(x)
	}
	return x, t.note(x)
}

// head says what this run is of.
func (r *run) head() head {
	return head{Prepared: *r.ready, Machine: r.acts.Machine(r.entry.ID)}
}

// recorded takes over what a recorded search started from, so that this one
// starts from the same.
func (r *run) recorded(ctx context.Context) error {
	path := filepath.Join(r.spec.Models.Replay, turnsName+".jsonl")
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

// replay reads the turns of a recording that the run's own journal does not
// have yet, and puts its verdicts where an evaluation would find them, if they
// are of this kind of machine.
func (r *run) replay(t *turns, have int) error {
	h, all, err := readRecording(filepath.Join(r.spec.Models.Replay, turnsName+".jsonl"))
	if err != nil {
		return err
	}
	mine := r.head()
	for i := range all {
		if all[i].Told == nil {
			continue
		}
		if h.Machine == mine.Machine {
			if err := r.acts.Adopt(context.Background(), r.entry.ID, all[i].Told.Judged); err != nil {
				return err
			}
		}
		all[i].Told.Judged = nil
	}
	if h.Machine != mine.Machine {
		r.d.Watch.Warn("the recording is from another kind of machine: its versions are measured anew, and the " +
			"search may take another way")
	}
	t.again = append(t.again, all[min(have, len(all)):]...)
	return nil
}

// readRecording reads a recording's head and turns.
func readRecording(path string) (h head, all []loop.Turn, err error) {
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
		var x loop.Turn
		switch err := d.Decode(&x); {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF): // its process was killed while it wrote
			return h, all, nil
		case err != nil:
			return h, nil, fmt.Errorf("%s: turn %d: %w", path, len(all)+1, err)
		}
		all = append(all, x)
	}
}
