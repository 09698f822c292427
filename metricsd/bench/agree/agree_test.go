package main

import (
	"bytes"
	"flag"
	"testing"

	"github.com/beagle-go/beagle/metricsd/agent"
)

var datagrams = flag.Int("datagrams", 20_000, "how many datagrams TestShapesAgree sends")

func TestShapesAgree(t *testing.T) {
	known, lines := uint64(0), uint64(0)
	for seed := range uint64(10) {
		p := newPair(seed)
		if err := p.run(*datagrams / 10); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		known += p.fast.Counters.Known.Load()
		lines += p.fast.Counters.Metrics.Load()
	}
	if known < lines/4 {
		t.Errorf("only %d of %d metrics were known by their bytes: there was little to compare", known, lines)
	}
}

// TestDifferencesAreSeen plants one line that only one of the shapes gets.
func TestDifferencesAreSeen(t *testing.T) {
	p := newPair(1)
	p.fast.Datagram([]byte("a:1|c"), false, "udp", p.now)
	if p.flush() == nil {
		t.Error("a line too many was not seen")
	}
}

// FuzzShapesAgree sends any bytes twice, in pieces, with a flush between: the second time lines are
// known.
func FuzzShapesAgree(f *testing.F) {
	s := newPair(1).speech
	for range 20 {
		f.Add(bytes.Clone(s.datagram()), uint64(3))
	}
	f.Add([]byte("a:1|g|#x,y\na:2|g|#y,x\na:3|g|#x,y\na::|g|#x,y\na:1:2|g|#x,y"), uint64(7))
	f.Fuzz(func(t *testing.T, datagram []byte, seed uint64) {
		p := newPair(seed)
		for range 4 {
			p.event()
			if err := p.send(bytes.SplitAfter(datagram, []byte("\n\n"))); err != nil {
				t.Fatal(err)
			}
		}
		p.both(func(w *agent.Worker) { w.SetTagger(nil) })
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
	})
}
