// Package index keeps what the intake knows of every name: when it was first and last
// seen, and how much comes in under it.
//
// Two stores have one behaviour, held by one set of tests: Pebble, embedded, for a
// single machine and nothing to install; PostgreSQL, when the index is to outlive the
// machine or be asked by others.
//
// # Applying twice
//
// Queues deliver at least once. A [Change] carries the place in the queue up to which
// its figures count, and both are written in one transaction; the reader starts
// again after that place. So points are counted once although messages may be read
// twice. The news of a change (first and last seen) may be written any number of
// times: they are a minimum and a maximum.
//
// A sender may repeat what is in the queue already. So the parcels that are counted are
// written with the figures too, in groups, of which the oldest go.
package index

import (
	"cmp"
	"context"

	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// A Kind is the kind of a name.
type Kind byte

// The kinds, in the order of the page.
const (
	Metric Kind = iota
	Host
	Tag
	App
)

// Kinds are all kinds.
var Kinds = []Kind{Metric, Host, Tag, App}

var kindNames = []string{"metric", "host", "tag", "app"}

func (k Kind) String() string { return kindNames[k] }

// Named returns the kind with a name.
func Named(name string) (Kind, bool) {
	for i, n := range kindNames {
		if n == name {
			return Kind(i), true
		}
	}
	return 0, false
}

// An Entry holds the facts about a customer's name. Times are seconds since 1970, as senders give
// them.
type Entry struct {
	Customer    string // whose name it is; empty for the default customer's
	Kind        Kind
	Name        string
	First, Last int64   // seen
	Points      uint64  // ever received under the name
	Rate        float64 // points a second, in the span of time before At
	At          int64   // when the rate was written; 0 if never
}

// join merges two writings of one entry. The rate comes from the later writing, whatever the clock
// said then.
func join(a, b Entry) Entry {
	a.First = min(a.First, b.First)
	a.Last = max(a.Last, b.Last)
	a.Points += b.Points
	if b.At != 0 {
		a.Rate, a.At = b.Rate, b.At
	}
	return a
}

// A Change is written as a whole or not at all. Points of its entries are added to the existing
// ones.
type Change struct {
	Entries []Entry
	// Read is the place in each partition of the queue up to which Points count, with the queue's
	// marks; empty when no entry has points. It identifies a change: if its places and marks are
	// stored, the change has been written.
	Read map[int32]int64
	// Group is stored with them, unless it is empty; groups with a number below Before are removed.
	Group  Group
	Before uint64
}

// A Group holds the parcels of series whose points are counted, of one writing.
type Group struct {
	Number uint64
	IDs    []wire.ID
}

// packIDs encodes a group for both stores.
func packIDs(ids []wire.ID) []byte {
	b := make([]byte, 0, len(ids)*len(wire.ID{}))
	for i := range ids {
		b = append(b, ids[i][:]...)
	}
	return b
}

func unpackIDs(b []byte) ([]wire.ID, error) {
	const size = len(wire.ID{})
	if len(b)%size != 0 {
		return nil, errDamaged
	}
	ids := make([]wire.ID, len(b)/size)
	for i := range ids {
		copy(ids[i][:], b[i*size:])
	}
	return ids, nil
}

// An Index keeps entries. It may be used by several goroutines.
type Index interface {
	// Apply writes a change, unless it has been written. If it returns nil, the change is durable.
	// Otherwise the change may be written or not, for example if the answer to a commit was lost,
	// and the caller must apply it again.
	Apply(context.Context, Change) error
	// Read returns the places of the last changes.
	Read(context.Context) (map[int32]int64, error)
	// Groups returns the stored groups, in the order of their numbers.
	Groups(context.Context) ([]Group, error)
	// Get returns an entry of a customer.
	Get(ctx context.Context, customer string, k Kind, name string) (Entry, bool, error)
	// List returns a customer's entries of a kind in the order of their names' bytes, from the
	// first after a name.
	List(ctx context.Context, customer string, k Kind, after string, most int) ([]Entry, error)
	// Customers returns the customers that have entries, sorted.
	Customers(context.Context) ([]string, error)
	// Forget removes entries that were last seen before a time.
	Forget(ctx context.Context, before int64) (gone int, err error)
	Close() error
}

// has reports whether places are among the stored ones.
func has(written, read map[int32]int64) bool {
	for partition, place := range read {
		if at, ok := written[partition]; !ok || at != place {
			return false
		}
	}
	return len(read) > 0
}

func byName(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Customer, b.Customer), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// eachEntry calls do with every entry of a customer's kind, in order.
func eachEntry(ctx context.Context, ix Index, customer string, k Kind, do func(Entry)) error {
	const page = 10_000
	after := ""
	for {
		entries, err := ix.List(ctx, customer, k, after, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			do(e)
		}
		if len(entries) < page {
			return nil
		}
		after = entries[len(entries)-1].Name
	}
}

// Names returns all names of a customer's kind, sorted.
func Names(ctx context.Context, ix Index, customer string, k Kind) (names []string, _ error) {
	err := eachEntry(ctx, ix, customer, k, func(e Entry) { names = append(names, e.Name) })
	return names, err
}
