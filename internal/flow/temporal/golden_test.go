package temporal

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/beagle-go/beagle/internal/flow/fleet"
)

var silent = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

var update = flag.Bool("update", false, "record the golden histories anew, from a real server")

// replayer takes histories again. A machine that does much else is no reason to take a workflow for
// hanging.
func replayer(t *testing.T) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReplay: workflows issue the commands that they issued when the histories
// in testdata were recorded. A run that is under way while its workers are
// upgraded depends on it: when this fails, the change needs
// workflow.GetVersion, and a new history beside the old ones.
func TestReplay(t *testing.T) {
	if *update { // -run 'TestReplay/rollouts' records those alone
		t.Run("runs", record)
		t.Run("rollouts", recordRollout)
		t.Run("campaigns", recordCampaign)
	}
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d histories in testdata (%v)", len(paths), err)
	}
	for _, path := range paths {
		r := replayer(t)
		r.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: runWorkflow})
		r.RegisterWorkflowWithOptions(Island, workflow.RegisterOptions{Name: islandWorkflow})
		r.RegisterWorkflowWithOptions(Rollout, workflow.RegisterOptions{Name: rolloutWorkflow})
		r.RegisterWorkflowWithOptions(Campaign, workflow.RegisterOptions{Name: campaignWorkflow})
		r.RegisterWorkflowWithOptions(Target, workflow.RegisterOptions{Name: targetWorkflow})
		if err := r.ReplayWorkflowHistoryFromJSONFile(silent, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestReplayTells: a history of other commands does not replay.
func TestReplayTells(t *testing.T) {
	r := replayer(t)
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, t Task) (Outcome, error) {
		return Outcome{}, nil
	}, workflow.RegisterOptions{Name: runWorkflow})
	if err := r.ReplayWorkflowHistoryFromJSONFile(silent, "testdata/run.json"); err == nil {
		t.Error("a workflow that does nothing replays the history of a run")
	}
}

// record runs a small search to its end, and one that is canceled, and keeps
// their histories.
func record(t *testing.T) {
	f := newFleet(t, "127.0.0.1")
	f.worker(role{Kinds: fleet.Kinds, Class: "test", Simulate: true})
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	d := f.driver()
	d.Block = 2
	if _, err := d.Start(ctx, "run", simSpec(40)); err != nil {
		t.Fatal(err)
	}
	away := f.worker(role{Kinds: fleet.Kinds, Class: "slow", Simulate: true, Pause: soon})
	d.MachineKind, d.Block = "slow", 0
	run := make(chan error, 1)
	go func() {
		_, err := d.Start(ctx, "canceled", simSpec(40))
		run <- err
	}()
	waitFor(t, &following{done: make(chan struct{})}, func() bool {
		var stood RunState
		ok, _ := d.Store.Load("canceled", lastStateName, &stood)
		return ok
	})
	if err := d.Cancel(ctx, "canceled", false); err != nil {
		t.Fatal(err)
	}
	<-run
	kill(away)
	c, err := Dial(ctx, d.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last := keep(t, c, "testdata/run.json", "run", "")
	first := last.Events[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	keep(t, c, "testdata/run-continues.json", "run", first)
	keep(t, c, "testdata/island.json", "run/island-0", "")
	keep(t, c, "testdata/run-canceled.json", "canceled", "")
}

// recordRollout drives a rollout over several histories, of which a person stops the last.
func recordRollout(t *testing.T) {
	s := newSite(t, endless)
	s.driver.Block = 3
	s.worker()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	end := s.fly(ctx)
	until(t, "a second history", func() bool { return s.flight().Log.Round > 4 })
	if err := s.driver.StopRollout(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	c, err := Dial(ctx, s.driver.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last := keep(t, c, "testdata/rollout-stopped.json", rolloutPrefix+"x", "")
	first := last.Events[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	keep(t, c, "testdata/rollout-continues.json", rolloutPrefix+"x", first)
}

// keep writes the history of a workflow.
func keep(t *testing.T, c client.Client, path, id, execution string) *history.History {
	t.Helper()
	h := new(history.History)
	for events := c.GetWorkflowHistory(context.Background(), id, execution, false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	text, err := protojson.MarshalOptions{Multiline: true, Indent: " "}.Marshal(h)
	if host, herr := os.Hostname(); herr == nil {
		text = bytes.ReplaceAll(text, []byte(host), []byte("host")) // of the identities
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}
