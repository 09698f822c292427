// Package fleet reaches runs on a Temporal server. It starts the program
// beagle-temporal, which alone links Temporal's SDK, and talks to it in lines of
// JSON: one [request] on its standard input, [message] lines on its standard
// output. So a user who searches on one machine builds nothing of Temporal.
//
// The program stops when its standard input closes. So it never outlives its starter, however that
// one ends.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A Server is the address of a Temporal server.
type Server struct {
	Address   string `json:"address"` // host:port
	Namespace string `json:"namespace"`
}

// Check returns a [beagle.UsageError] unless the address can be one.
func (s Server) Check() error {
	if _, _, err := net.SplitHostPort(s.Address); err != nil {
		return &beagle.UsageError{
			What:   fmt.Sprintf("--temporal %q is not an address: %v", s.Address, err),
			Remedy: "give host:port, as in --temporal localhost:7233",
		}
	}
	return nil
}

// Kinds of work that workers choose from. Their names are queues of the server, except for the
// measurements: each kind of machine has a queue of its own for them.
const (
	LLM    = "llm"    // making candidates of proposals
	Build  = "build"  // recording inputs, profiling the original, reporting
	Verify = "verify" // the full verification of finalists
	Bench  = "bench"  // all that is timed
)

// Kinds are all kinds of work of searches.
var Kinds = []string{LLM, Build, Verify, Bench}

// Rollout is the kind of work that touches production. Only a worker with that order takes it: it
// must reach the processes, and hold their token.
const Rollout = "rollout"

// CampaignRun returns the name under which [Backend.Cancel] knows a campaign.
func CampaignRun(id string) string { return "campaign/" + id }

// A RolloutStatus says how the workflow of a rollout stands.
type RolloutStatus struct {
	State   string `json:"state"`             // as the server has it, in lower case: running, completed, failed, ...; or absent
	Round   int    `json:"round"`             // rounds so far
	Waits   bool   `json:"waits"`             // no worker asks for its work
	Unknown string `json:"unknown,omitempty"` // why the workflow itself does not answer
}

func (s RolloutStatus) String() string {
	switch {
	case s.Waits:
		return s.State + ", but no worker takes its work; the processes run the original"
	case s.Unknown != "":
		return s.State
	}
	return fmt.Sprintf("%s, %d rounds", s.State, s.Round)
}

// Detached says that the command stopped following the run, which goes on.
type Detached struct{ Run string }

func (e *Detached) Error() string { return "run " + e.Run + " goes on by itself" }

// Canceled says that the run was stopped and can be started again.
type Canceled struct{ Run string }

func (e *Canceled) Error() string { return "run " + e.Run + " was stopped" }

// PlaceFile is the file of a run, campaign or rollout that names the server that it is on. Package
// pilot, which imports no fleet, removes it by the same name.
const PlaceFile = place + ".json"

const place = "temporal"

// Place saves the server that a run is on.
func Place(s *store.Store, run string, at Server) error { return s.Save(run, place, at) }

// ServerOf returns the server that a run is on, and whether it is on one.
func ServerOf(s *store.Store, run string) (Server, bool, error) {
	return ServerIn(s.RunDir(run))
}

// ServerIn returns the server that the directory of a run, campaign or rollout names, and whether
// it names one.
func ServerIn(dir string) (at Server, ok bool, err error) {
	err = store.ReadJSON(filepath.Join(dir, PlaceFile), &at)
	if errors.Is(err, fs.ErrNotExist) {
		return at, false, nil
	}
	return at, err == nil, err
}

// MarkKilled tells runs whose process is gone from those that go on, by the store's lock. It only
// looks at the lock, so that no other process is refused meanwhile.
func MarkKilled(s *store.Store, runs []store.Run) {
	for i := range runs {
		if runs[i].State != store.Running || s.Works(runs[i]) {
			continue
		}
		if _, away, _ := ServerOf(s, runs[i].ID); !away {
			runs[i].State, runs[i].Note = store.Stopped,
				"its process ended without notice; go on with 'beagle resume "+runs[i].ID+"'"
		}
	}
}

// A Backend does the work of beagle-temporal.
type Backend interface {
	// Start begins a run under an ID, or under a new one if that is empty, and
	// follows it to its result. It only follows a run of that ID which is under way.
	Start(ctx context.Context, id string, spec flow.Spec) (*beagle.Result, error)
	// Resume follows a run that is under way, and starts one again that was stopped
	// or has failed.
	Resume(ctx context.Context, id string) (*beagle.Result, error)
	// Cancel stops a run, with all the work for it. With enough, only the search ends, and its
	// findings are judged.
	Cancel(ctx context.Context, id string, enough bool) error
	// Campaign carries out a campaign whose order and state are in the store, and returns when it
	// is over. It only follows one that is under way.
	Campaign(ctx context.Context, id string) error
	// Rollout drives a rollout whose order is in the store, and returns when it is over. It only
	// follows one that is under way.
	Rollout(ctx context.Context, id string) error
	// RolloutStatus returns how its workflow stands.
	RolloutStatus(ctx context.Context, id string) (RolloutStatus, error)
	// StopRollout has the workflow roll back.
	StopRollout(ctx context.Context, id string) error
	// Work takes work of these kinds until ctx ends.
	Work(ctx context.Context, kinds []string) error
}
