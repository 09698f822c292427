package wire

import (
	"encoding/binary"
	"fmt"
)

// Flags of an event.
const (
	HasHoles   = 1 << iota // the arguments or the results have holes
	Shared                 // arguments share memory, which the encoding does not keep
	Followed               // memory was read that other goroutines may write at the same time
	HasResults             // the results are there
	NoReturn               // the call panicked or ended its goroutine
	Unfinished             // the call had not returned when its results were to be read
)

// An Event is one captured call.
type Event struct {
	Seq     uint64 // within the session, from 1
	Site    int    // index into the sites of the session
	Time    int64  // entry of the call, in nanoseconds since 1970
	Flags   byte
	Args    []byte // a struct of the arguments, receiver first
	Results []byte // a struct of the results; empty without HasResults
}

// Append appends the event in the form that ReadEvents reads.
func (e *Event) Append(b []byte) []byte {
	var head [3*binary.MaxVarintLen64 + 1]byte
	h := binary.AppendUvarint(head[:0], e.Seq)
	h = binary.AppendUvarint(h, uint64(e.Site))
	h = binary.AppendVarint(h, e.Time)
	h = append(h, e.Flags)
	n := len(h) + uvarintLen(len(e.Args)) + len(e.Args) + len(e.Results)
	b = binary.AppendUvarint(b, uint64(n))
	b = append(b, h...)
	b = binary.AppendUvarint(b, uint64(len(e.Args)))
	b = append(b, e.Args...)
	return append(b, e.Results...)
}

func uvarintLen(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// ReadEvents reads events, whose arguments and results refer to b. It checks that their values are
// well formed, and returns those before a mistake together with the error.
func ReadEvents(b []byte) (events []Event, err error) {
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return events, fmt.Errorf("event %d: %w", len(events), errShort)
		}
		e, err := readEvent(b[size : size+int(n)])
		if err != nil {
			return events, fmt.Errorf("event %d: %w", len(events), err)
		}
		events = append(events, e)
		b = b[size+int(n):]
	}
	return events, nil
}

// readEvent decodes an event, and checks its values.
func readEvent(b []byte) (e Event, err error) {
	next := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			err = errShort
			return 0
		}
		b = b[size:]
		return n
	}
	e.Seq = next()
	site := next()
	t := next() // zigzag, as AppendVarint writes it
	e.Time = int64(t>>1) ^ -int64(t&1)
	if err != nil || len(b) == 0 || site > 1<<16 {
		return e, errShort
	}
	e.Site, e.Flags, b = int(site), b[0], b[1:]
	n := next()
	if err != nil || n > uint64(len(b)) {
		return e, errShort
	}
	e.Args, e.Results = b[:n:n], b[n:]
	if _, err := Holes(e.Args); err != nil {
		return e, fmt.Errorf("arguments: %w", err)
	}
	if e.Flags&HasResults != 0 {
		if _, err := Holes(e.Results); err != nil {
			return e, fmt.Errorf("results: %w", err)
		}
	} else if len(e.Results) > 0 {
		return e, fmt.Errorf("%d bytes follow the arguments", len(e.Results))
	}
	return e, nil
}
