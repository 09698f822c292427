package rt

import (
	"fmt"
	"slices"
)

// Terms are the contract of a request: the inputs on which versions are compared, and the
// differences that do not count.
type Terms struct {
	Requires []int    `json:"requires,omitempty"` // places in Predicates; an input for which one is false is left out
	Ignore   []string `json:"ignore,omitempty"`   // some of the Ignore constants
}

// The differences that Terms may ignore.
const (
	IgnoreErrorText  = "error-text"  // the text of an error; its type and the errors that it wraps count
	IgnorePanicValue = "panic-value" // the value of a panic; the panic itself counts
	IgnoreNilEmpty   = "nil-empty"   // nil against an empty slice or map that shares no memory
	IgnoreCapacity   = "capacity"    // the memory between length and capacity: its size and its owner
	IgnoreScratch    = "scratch"     // writes between length and capacity of the arguments
)

// Predicates are functions of type func(*A) bool over the arguments. The shim's
// init function sets them; the numbers in Terms are places in this list.
var Predicates []any

// agree takes up the terms of a request.
func (h *Harness[A, R]) agree(t *Terms) error {
	h.requires = nil
	if t == nil {
		return nil
	}
	// The request names predicates by their numbers, which the generated program has compiled in.
	for _, i := range t.Requires {
		if i < 0 || i >= len(Predicates) {
			return fmt.Errorf("the request requires predicate %d of %d", i, len(Predicates))
		}
		p, ok := Predicates[i].(func(*A) bool)
		if !ok {
			return fmt.Errorf("predicate %d is a %T, not a function of the target's arguments", i, Predicates[i])
		}
		h.requires = append(h.requires, p)
	}
	// Differences that the contract ignores apply to all comparisons of the process.
	in := func(kind string) bool { return slices.Contains(t.Ignore, kind) }
	ignored.errorText, ignored.panicValue, ignored.nilEmpty = in(IgnoreErrorText), in(IgnorePanicValue),
		in(IgnoreNilEmpty)
	ignored.capacity, ignored.scratch = in(IgnoreCapacity), in(IgnoreScratch)
	return nil
}

// keeps reports whether an input is one that the contract speaks of.
func (h *Harness[A, R]) keeps(a *A) bool {
	for _, p := range h.requires {
		if !predicateHolds(p, a) {
			return false
		}
	}
	return true
}

// predicateHolds evaluates a predicate. One that panics on an input does not hold.
func predicateHolds[A any](p func(*A) bool, a *A) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return p(a)
}

// Sift is the request that only evaluates predicates over recorded inputs.
type Sift struct {
	Records string `json:"records"` // record file
}

// A Sifted is the answer. Bit i of a set, lowest first, is that of record i; a
// record that cannot be read is in no set.
type Sifted struct {
	Records int      `json:"records"`
	Kept    []byte   `json:"kept"`             // the records that keep to the request's terms
	Each    [][]byte `json:"each,omitempty"`   // those for which each of Predicates holds
	Broken  []string `json:"broken,omitempty"` // the arguments of the first that does not keep to the terms, in Go
}

// sift finds out which records the contract covers, as a bit for each. The first one outside is
// spelled out, as an example.
func (h *Harness[A, R]) sift(q *Sift) (any, error) {
	records, err := ReadRecords(q.Records)
	if err != nil {
		return nil, err
	}
	size := (len(records) + 7) / 8
	out := &Sifted{Records: len(records), Kept: make([]byte, size), Each: make([][]byte, len(Predicates))}
	for i := range out.Each {
		out.Each[i] = make([]byte, size)
	}
	for i, r := range records {
		var a A
		// An unreadable record satisfies no contract.
		if Decode(r.Args, &a, h.Types) != nil {
			continue
		}
		if h.keeps(&a) {
			out.Kept[i/8] |= 1 << (i % 8)
		} else if out.Broken == nil {
			out.Broken, _ = spellCall(&a)
		}
		for k := range Predicates {
			if p, ok := Predicates[k].(func(*A) bool); ok && predicateHolds(p, &a) {
				out.Each[k][i/8] |= 1 << (i % 8)
			}
		}
	}
	return out, nil
}

// Has reports whether record i is in a set of a Sifted.
func Has(set []byte, i int) bool { return i/8 < len(set) && set[i/8]>>(i%8)&1 == 1 }
