package local

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A keeper saves the course of a run now and then. Checkpoints grow with the
// search, so they may take a share of the time only. What came after the last one
// is in the journals. The disk is slow, and the search need not wait for it: it
// goes on while a checkpoint is written.
type keeper struct {
	store *store.Store
	run   string

	kept    time.Time     // the last checkpoint
	keeping time.Duration // what it took to put together
	writing chan error    // tells when it is on disk; nil when that is known
}

// keepShare is the reciprocal of the share of the time that checkpoints may take.
const keepShare = 20

// keep saves the course if it is time, and waits for the disk if it is the last
// time.
func (k *keeper) keep(c *flow.Course, turns *store.Journal, last bool) error {
	if !last && time.Since(k.kept) < keepShare*k.keeping {
		return nil
	}
	if err := k.begin(c, turns); err != nil || !last {
		return err
	}
	return k.written()
}

// begin saves the course as it is now. The turns that it counts come first, or
// nobody could go on from it. Then comes the log: what it tells twice is left
// out, what it never told would be lost.
func (k *keeper) begin(c *flow.Course, turns *store.Journal) error {
	if err := k.written(); err != nil {
		return err
	}
	start := time.Now()
	log, logErr := json.Marshal(&c.Log)
	search, err := json.Marshal(c.Search)
	if err := errors.Join(logErr, err); err != nil {
		return err
	}
	k.kept = time.Now()
	k.keeping = k.kept.Sub(start)
	writing := make(chan error, 1)
	k.writing = writing
	go func() {
		err := turns.Sync()
		if err == nil {
			err = k.store.Save(k.run, "log", json.RawMessage(log))
		}
		if err == nil {
			err = k.store.Save(k.run, "search", json.RawMessage(search))
		}
		writing <- err
	}()
	return nil
}

// written waits until the last checkpoint is on disk.
func (k *keeper) written() error {
	if k.writing == nil {
		return nil
	}
	err := <-k.writing
	k.writing = nil
	return err
}
