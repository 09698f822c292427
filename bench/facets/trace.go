package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/source"
)

// A trace holds all calls of a function in the time of a capture.
type trace struct {
	calls   []call // by their beginnings
	long    time.Duration
	records []beagle.Record
	facets  *beagle.Facets
}

// A call is one of a trace.
type call struct {
	began, took, others int64
	args                uint64 // a hash
}

// A span is the time of a capture.
type span struct{ from, to time.Time }

// readTraces reads the traces of all captures from a function's file.
func readTraces(path string, u *source.Unit, spans []span) ([]*trace, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, lines, seed := make([]*trace, len(spans)), make([]bytes.Buffer, len(spans)), maphash.MakeSeed()
	for i, s := range spans {
		all[i] = &trace{long: s.to.Sub(s.from)}
	}
	for in := bufio.NewReader(bytes.NewReader(text)); ; {
		line, err := in.ReadBytes('\n')
		if err != nil { // the last line may be cut
			break
		}
		parts := bytes.SplitN(line, []byte(" "), 4)
		if len(parts) < 4 {
			return nil, fmt.Errorf("%s: a line of %d parts", path, len(parts))
		}
		var n [3]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(string(parts[i]), 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		began := time.Unix(0, n[0])
		i := slices.IndexFunc(spans, func(s span) bool { return !began.Before(s.from) && began.Before(s.to) })
		if i < 0 {
			continue
		}
		lines[i].Write(parts[3])
		all[i].calls = append(all[i].calls, call{n[0], n[1], n[2], maphash.Bytes(seed, parts[3])})
	}
	for i, t := range all {
		slices.SortFunc(t.calls, func(a, b call) int { return cmp.Compare(a.began, b.began) })
		if t.records, err = corpus.Read(u, &lines[i], path); err != nil {
			return nil, err
		}
		c, err := corpus.Observed(u, t.records, corpus.Observations{})
		if err != nil {
			return nil, err
		}
		t.facets = &c.Facets
	}
	return all, nil
}

// repeatShare returns how often a call had the arguments of one at about that distance before it:
// the mean over half the distance to one and a half, as a gate's vary.
func (t *trace) repeatShare(distance float64) float64 {
	same, pairs := 0, 0
	for k := range 21 {
		d := max(1, int(distance*(0.5+float64(k)/20)))
		for i := d; i < len(t.calls); i++ {
			pairs++
			if t.calls[i].args == t.calls[i-d].args {
				same++
			}
		}
	}
	return float64(same) / float64(max(pairs, 1))
}

// overlapShares returns the shares of the calls that began beside none, one, two or three, and
// more.
func (t *trace) overlapShares() (b [4]float64) {
	for _, c := range t.calls {
		switch {
		case c.others <= 0:
			b[0]++
		case c.others == 1:
			b[1]++
		case c.others < 4:
			b[2]++
		default:
			b[3]++
		}
	}
	for i := range b {
		b[i] /= float64(len(t.calls))
	}
	return b
}
