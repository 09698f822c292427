package agent

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// TestWaitingIsBounded checks that waiting items are bounded in number and bytes, and that dropped
// ones are counted.
func TestWaitingIsBounded(t *testing.T) {
	for _, test := range []struct {
		line       string
		sent, kept int
	}{
		{"_e{1,1}:a|b", maxWaiting + 5, maxWaiting},
		{"_sc|db|0|m:" + strings.Repeat("x", 8<<10), 3000, maxWaitingBytes / (8<<10 + 11)},
		// Ten thousand tags of a letter: each has a header, and is in the line too.
		{"_e{1,1}:a|b|#" + strings.Repeat("x,", 9999) + "x", 200, maxWaitingBytes / (19999 + 13 + 10_000*17)},
	} {
		in := NewIntake(aggregate.New(1, aggregate.Limits{}), "", 7)
		in.waiting = new(waiting)
		w := in.Worker()
		for range test.sent {
			w.Datagram([]byte(test.line), false, "test", 0)
		}
		events, checks := in.waiting.take()
		if n := len(events) + len(checks); n != test.kept || int(in.waiting.dropped.Load()) != test.sent-test.kept {
			t.Errorf("%d of %d kept, %d dropped; want %d kept", n, test.sent, in.waiting.dropped.Load(), test.kept)
		}
		if events, checks = in.waiting.take(); len(events)+len(checks) > 0 {
			t.Error("taken twice")
		}
		if w.Datagram([]byte(test.line), false, "test", 0); in.waiting.bytes != weight(len(test.line),
			manyTags(test.line), "") {
			t.Errorf("%d bytes after a flush", in.waiting.bytes)
		}
	}
}

// manyTags returns the tags for such a line.
func manyTags(line string) []string {
	_, tags, ok := strings.Cut(line, "|#")
	if !ok {
		return nil
	}
	return strings.Split(tags, ",")
}

// TestWaitingCountsAddedTags checks that tags added by the configuration are counted too, though
// they are not in the line.
func TestWaitingCountsAddedTags(t *testing.T) {
	added := strings.Repeat("x", 1<<20)
	in := NewIntake(aggregate.New(1, aggregate.Limits{}), "", 7)
	tags, err := tagger.New("low", map[string]tagger.Entity{"c0ffee": {Low: []string{added}}})
	if err != nil {
		t.Fatal(err)
	}
	in.tagger.Store(tags)
	in.waiting = new(waiting)
	w := in.Worker()
	for range 20 {
		w.Datagram([]byte("_e{1,1}:a|b|c:c0ffee"), false, "test", 0)
		w.Datagram([]byte("_sc|db|0|c:c0ffee"), false, "test", 0)
	}
	events, checks := in.waiting.take()
	if n := len(events) + len(checks); n != 15 || in.waiting.dropped.Load() != 25 {
		t.Errorf("%d kept, %d dropped", n, in.waiting.dropped.Load())
	}
}

// sink may want events, and keeps them.
type sink struct {
	wants  bool
	events int
}

func (s *sink) Send(f aggregate.Flush)  { s.events += len(f.Events) }
func (s *sink) WantsEvents() bool       { return s.wants }
func (s *sink) OwnMetrics(*expose.Page) {}

func TestEventsWaitOnlyForWhoWantsThem(t *testing.T) {
	for _, wants := range []bool{false, true} {
		s, other := &sink{wants: wants}, new(sink)
		a, stop := runAgent(t, testConfig(t), other, s)
		if (a.waiting != nil) != wants {
			t.Errorf("wanted %v: kept %v", wants, a.waiting != nil)
		}
		a.Worker().Datagram([]byte("_e{1,1}:a|b"), false, "test", 0)
		stop()
		if got := s.events == 1; got != wants {
			t.Errorf("wanted %v: %d events", wants, s.events)
		}
	}
}
