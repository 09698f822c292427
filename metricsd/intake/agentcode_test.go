package intake

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// agentSent is the account of compat/agent on what it has sent.
type agentSent struct {
	Metric, Host, Kind string
	Tags               []string
	Interval           int64
	Values             []float64
	Keys               []int32
	Counts             []uint32
	Min, Max, Sum, Avg float64
	Count              int64
}

// TestTheAgentsOwnCode sends series and sketches to an intake by the Datadog Agent's serializer,
// compression and forwarder, and reads them from the intake's queue: each value, bin and tag as
// sent.
func TestTheAgentsOwnCode(t *testing.T) {
	program := os.Getenv("AGENT_SENDER")
	if program == "" {
		t.Skip("AGENT_SENDER does not name the program of compat/agent (its build.sh makes it): the Datadog Agent's " +
			"own code does not send to the intake")
	}
	for name, args := range map[string][]string{
		"v1, zstd": {"-v1"}, "v1, zlib": {"-v1", "-compressor=zlib"},
		"v2, zstd": nil, "v2, zlib": {"-compressor=zlib"}, "v2, none": {"-compressor=none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, t.TempDir(), Options{Token: "key-of-the-agent", Flush: time.Hour})
			sent := runSender(t, program, append(args, "-url="+r.url, "-key=key-of-the-agent")...)
			got := allQueued(t, r.bus, len(sent))
			sums := map[string]float64{}
			for _, s := range sent {
				g, ok := got[s.Metric]
				if !ok {
					t.Fatalf("%s did not arrive", s.Metric)
				}
				s.check(t, g)
				for _, p := range g.Points {
					sums[s.Kind] += p.Value
				}
				for _, d := range g.Sketches {
					sums[s.Kind] += d.Sum
				}
			}
			t.Logf("%d series in %d bodies, sums by kind %v", len(sent), r.door.accepted.Load(), sums)
			if n := r.door.refused.Load() + r.door.tooLarge.Load() + r.door.denied.Load(); n != 0 {
				t.Errorf("%d requests were refused", n)
			}
		})
	}
}

// runSender runs the program until the test ends.
func runSender(t *testing.T, program string, args ...string) (sent []agentSent) {
	t.Helper()
	cmd := exec.Command(program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	lines := bufio.NewReader(out)
	for { // the Agent's log comes first
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the program did not say what it sent: %v", err)
		}
		if json.Unmarshal(line, &sent) == nil {
			return sent
		}
	}
}

// allQueued reads the queue until it has n series, and returns them by metric.
func allQueued(t *testing.T, b bus.Bus, n int) map[string]wire.Series {
	t.Helper()
	enough := errors.New("enough")
	got := map[string]wire.Series{}
	err := b.Read(t.Context(), nil, func(m bus.Message) error {
		parcels, err := wire.Decode(m.Data)
		if err != nil {
			return err
		}
		for _, p := range parcels {
			for _, s := range p.Series {
				if _, twice := got[s.Metric]; twice {
					t.Errorf("%s came twice", s.Metric)
				}
				got[s.Metric] = s
			}
		}
		if len(got) >= n {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("%d series of %d: %v", len(got), n, err)
	}
	return got
}

// check compares a metric as sent with the same metric as received.
func (s *agentSent) check(t *testing.T, g wire.Series) {
	t.Helper()
	if g.Host != s.Host || g.Kind.String() != s.Kind || !slices.Equal(g.Tags, s.Tags) ||
		s.Kind != "sketch" && g.Interval != s.Interval {
		t.Errorf("got %+v\nsent %+v", g, s)
	}
	const start = 1_700_000_000
	var points []wire.Point
	for i, v := range s.Values {
		points = append(points, wire.Point{Time: start + 10*int64(i), Value: v})
	}
	if !slices.Equal(g.Points, points) {
		t.Errorf("%s: got %v, sent %v", s.Metric, g.Points, points)
	}
	if s.Kind != "sketch" {
		return
	}
	if len(g.Sketches) != 1 {
		t.Errorf("%s: %d sketches", s.Metric, len(g.Sketches))
		return
	}
	d := g.Sketches[0]
	if !slices.Equal(d.Keys, s.Keys) || !slices.Equal(d.Counts, s.Counts) || d.Time != start ||
		d.Min != s.Min || d.Max != s.Max || d.Sum != s.Sum || d.Average != s.Avg || d.Count != s.Count {
		t.Errorf("got %+v\nsent %+v", d, s)
	}
}
