package agent

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// What waits for a flush is bounded in number and in bytes; what is dropped is counted.
func TestWaitingIsBounded(t *testing.T) {
	for _, test := range []struct {
		line       string
		sent, kept int
	}{
		{"_e{1,1}:a|b", maxWaiting + 5, maxWaiting},
		{"_sc|db|0|m:" + strings.Repeat("x", 8<<10), 3000, maxWaitingBytes / (8<<10 + 11)},
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
		if w.Datagram([]byte(test.line), false, "test", 0); in.waiting.bytes != len(test.line) {
			t.Errorf("%d bytes after a flush", in.waiting.bytes)
		}
	}
}
