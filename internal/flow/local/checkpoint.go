package local

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A checkpointer saves the course of a run now and then. Checkpoints grow with the search, so they
// may take only a share of the time. The journals hold everything after the last one. Writing is
// slow, so the search goes on in the meantime.
type checkpointer struct {
	store *store.Store
	run   string

	ended   time.Time     // the last checkpoint
	took    time.Duration // of putting it together
	writing chan error    // tells when it is on disk; nil when that is known
}

// checkpointShare is the reciprocal of the share of the time that checkpoints may take.
const checkpointShare = 20

// saveIfDue saves the course if it is time, and waits for the disk if it is the last
// time.
func (k *checkpointer) saveIfDue(c *flow.Course, actions *store.Journal, last bool) error {
	if !last && time.Since(k.ended) < checkpointShare*k.took {
		return nil
	}
	if err := k.begin(c, actions); err != nil || !last {
		return err
	}
	return k.await()
}

// begin saves the course. The actions that it counts must be on disk first, or no process could
// go on from it. The log comes last: an entry that it repeats is left out, an entry that it lacks
// would be lost.
func (k *checkpointer) begin(c *flow.Course, actions *store.Journal) error {
	if err := k.await(); err != nil {
		return err
	}
	start := time.Now()
	log, logErr := json.Marshal(&c.Log)
	search, err := json.Marshal(c.Search)
	if err := errors.Join(logErr, err); err != nil {
		return err
	}
	k.ended = time.Now()
	k.took = k.ended.Sub(start)
	writing := make(chan error, 1)
	k.writing = writing
	go func() {
		err := actions.Sync()
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

// await waits until the last checkpoint is on disk.
func (k *checkpointer) await() error {
	if k.writing == nil {
		return nil
	}
	err := <-k.writing
	k.writing = nil
	return err
}
