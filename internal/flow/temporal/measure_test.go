package temporal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// A cost is the cost of the orchestration of a run with simulated stages. A figure of
// docs/measurements.md is made of it.
type cost struct {
	Candidates int       `json:"candidates"`
	Histories  int       `json:"histories"` // of the run: it continues as new
	MostEvents int64     `json:"most_events"`
	MostBytes  int64     `json:"most_bytes"`
	Millis     []float64 `json:"millis"` // a candidate, in each tenth of the run
	Plain      []float64 `json:"plain"`  // of a plain loop with the same stages and store
	MaxRSS     int64     `json:"max_rss"`
	Same       bool      `json:"same"` // both took the same way
}

// measure runs a search with simulated stages on a server, with all workers in
// this process, and prints its cost.
func (r *role) measure(ctx context.Context) error {
	spec := simSpec(r.Candidates)
	spec.Batch, spec.Strategy = r.Batch, r.Strategy
	out := cost{Candidates: r.Candidates}
	c, err := Dial(ctx, r.server())
	if err != nil {
		return err
	}
	defer c.Close()
	working, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	s := openAt(r.Home)
	w := &Worker{Store: s, Kinds: fleet.Kinds, MachineKind: "test", Open: func(watch flow.Watcher) Stages {
		return &sim{store: s, watch: watch}
	}}
	go func() { worked <- w.Serve(working, c) }()
	tenths := newTenths(r.Candidates)
	d := &Driver{Store: s, Server: r.server(), MachineKind: "test", Watch: func(e flow.Event) {
		if e.Evaluated != nil {
			tenths.at(e.Evaluated.Candidates)
		}
	}}
	got, err := d.Start(ctx, "run", spec)
	if err != nil {
		return err
	}
	out.Millis = tenths.millis()
	stop()
	if err := <-worked; err != nil {
		return err
	}
	if err := out.histories(ctx, c); err != nil {
		return err
	}
	out.MaxRSS = maxRSS()
	tenths = newTenths(r.Candidates)
	want, err := plain(&sim{store: openAt(filepath.Join(r.Home, "plain"))}, "run", spec, func(c *flow.Course) {
		tenths.at(c.Search.Spent)
	})
	if err != nil {
		return err
	}
	out.Plain, out.Same = tenths.millis(), firstDifference(got.Attempts, want.Log.Attempts) == ""
	return json.NewEncoder(os.Stdout).Encode(out)
}

// histories looks at what the run has left on the server.
func (o *cost) histories(ctx context.Context, c client.Client) error {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Second) { // the list is a little late
		list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'Run'"})
		if err != nil {
			return err
		}
		o.Histories = 0
		open := false
		for _, e := range list.Executions {
			o.Histories++
			o.MostEvents, o.MostBytes = max(o.MostEvents, e.HistoryLength), max(o.MostBytes, e.HistorySizeBytes)
			open = open || !strings.Contains(e.Status.String(), "omplete") &&
				!strings.Contains(e.Status.String(), "ontinued")
		}
		if o.Histories > 0 && !open {
			return nil
		}
	}
	return fmt.Errorf("the server does not list the run's histories")
}

// tenths are the times at which each tenth of a run was done, as far as they
// were seen.
type tenths struct {
	all   int
	begun time.Time
	seen  []reading
}

type reading struct {
	candidates int
	at         time.Duration
}

func newTenths(all int) *tenths { return &tenths{all: all, begun: time.Now()} }

func (t *tenths) at(candidates int) {
	t.seen = append(t.seen, reading{candidates, time.Since(t.begun)})
}

// millis returns the milliseconds a candidate between the first readings in neighbouring tenths.
func (t *tenths) millis() []float64 {
	var out []float64
	last := reading{}
	for _, r := range t.seen {
		if r.candidates >= last.candidates+t.all/10 {
			out = append(out, float64((r.at-last.at).Microseconds())/1000/float64(r.candidates-last.candidates))
			last = r
		}
	}
	return out
}
