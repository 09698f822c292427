package load_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/listen"
	"github.com/beagle-go/beagle/metricsd/load"
)

// TestShapesAreWhatTheySay reads the generators' packets and counts for itself.
func TestShapesAreWhatTheySay(t *testing.T) {
	for _, shape := range load.Shapes {
		g, p := load.NewGenerator(shape, 0, 1), dogstatsd.NewParser(0, 0)
		seen, got := make(map[string]bool), load.Totals{}
		for range 3000 {
			packet := g.Packet()
			if shape.Packet > 0 && len(packet) > shape.Packet {
				t.Fatalf("%s: a packet of %d bytes", shape.Name, len(packet))
			}
			got.Packets++
			got.Bytes += len(packet)
			for line := range bytes.SplitSeq(packet, []byte("\n")) {
				count(p, line, seen, &got)
			}
		}
		if got != g.Totals() {
			t.Errorf("%s: read %+v, the generator says %+v", shape.Name, got, g.Totals())
		}
		if n := len(seen); n > shape.Contexts || n < min(shape.Contexts, 3000)*9/10 {
			t.Errorf("%s: %d contexts, want up to %d", shape.Name, n, shape.Contexts)
		}
	}
}

func count(p *dogstatsd.Parser, line []byte, seen map[string]bool, totals *load.Totals) {
	totals.Messages++
	var m dogstatsd.Metric
	var err error
	switch dogstatsd.KindOf(line) {
	case dogstatsd.KindEvent:
		_, err = p.Event(line)
	case dogstatsd.KindCheck:
		_, err = p.Check(line)
	default:
		err = p.Metric(line, &m)
	}
	switch {
	case err != nil:
		totals.Malformed++
		return
	case strings.HasPrefix(m.Name, "storm."):
		totals.NewNames++
		return
	case m.Type == dogstatsd.Count:
		totals.Counts++
	}
	seen[fmt.Sprint(m.Name, m.Tags, m.Type)] = true
}

func TestSeedsRepeat(t *testing.T) {
	a, b := load.NewGenerator(load.Shapes[0], 3, 5), load.NewGenerator(load.Shapes[0], 3, 5)
	for range 10 {
		if !bytes.Equal(a.Packet(), b.Packet()) {
			t.Fatal("the same seed gave other lines")
		}
	}
	if bytes.Equal(load.NewGenerator(load.Shapes[0], 4, 5).Packet(), load.NewGenerator(load.Shapes[0], 3, 5).Packet()) {
		t.Error("two senders send the same")
	}
}

func TestSendOverAStream(t *testing.T) {
	s, err := listen.OpenStream(filepath.Join(t.TempDir(), "s"), 1<<16, 100)
	if err != nil {
		t.Fatal(err)
	}
	var frames, size atomic.Int64
	ctx, enough := context.WithTimeout(t.Context(), time.Minute)
	defer enough()
	go s.Serve(func(int32) func([]byte) {
		return func(b []byte) {
			size.Add(int64(len(b)))
			if frames.Add(1) == 100 {
				enough()
			}
		}
	}, func(err error) { t.Error(err) })
	defer s.Close()
	shape, err := load.Named("many")
	if err != nil {
		t.Fatal(err)
	}
	shape.Contexts = 100 // twenty senders make theirs before the first packet
	report, err := load.Send(ctx, shape, "unix", s.Address(), 1)
	if err != nil || report.Failed > 0 || report.Packets == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for range 6000 { // a minute: machines may be busy
		if frames.Load() == int64(report.Packets) && size.Load() == int64(report.Bytes) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("sent %+v, %d frames of %d bytes came", report, frames.Load(), size.Load())
}

func TestUnknownShape(t *testing.T) {
	if _, err := load.Named("round"); err == nil || !strings.Contains(err.Error(), "steady, many") {
		t.Errorf("got %v", err)
	}
}
