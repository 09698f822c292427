package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/beagle-go/beagle/metricsd/disk"
)

// Keys of entries are 'e', the kind, the name, and with a customer 'c', the customer, a zero byte,
// the kind, the name; keys of places are 'r' and the partition; keys of groups are 'g' and the
// number. Entries are merged, not read and written: the merger joins what was written under a key.
const (
	customerKey = 'c'
	entryKey    = 'e'
	groupKey    = 'g'
	readKey     = 'r'
)

type pebbleIndex struct {
	db      *pebble.DB
	dir     string
	reserve int64
	ballast *ballast
	turn    chan struct{} // held by the change that is being written
}

// PebbleOptions say where the embedded store keeps entries.
type PebbleOptions struct {
	Dir string // made if need be; one process has it
	// Reserve is how many bytes of the disk have to stay free: changes that come when there are
	// fewer are refused. A file of half that size, the ballast, is removed if a write meets the
	// disk's end nevertheless.
	Reserve int64
}

// OpenPebble opens an index in a directory.
func OpenPebble(o PebbleOptions) (Index, error) {
	b := newBallast(o.Dir, o.Reserve/2)
	db, err := pebble.Open(o.Dir, &pebble.Options{
		Merger: &pebble.Merger{Name: "metricsd.entry.1", Merge: startMerge},
		Logger: quiet{},
		FS:     b.withBallast(vfs.Default),
	})
	if err != nil {
		return nil, fmt.Errorf("index %s: %w; is another metricsd using it, or the disk full?", o.Dir, err)
	}
	b.opened.Store(true)
	b.restore(o.Reserve) // if there is no room, a later change makes it
	return &pebbleIndex{db, o.Dir, o.Reserve, b, make(chan struct{}, 1)}, nil
}

// quiet keeps Pebble's messages on its compactions out of the log.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic("index: " + fmt.Sprintf(format, args...)) // Pebble cannot continue, and says so
}

// key returns the key of an entry. No customer's name has a zero byte, so none is the beginning of
// another's keys.
func key(customer string, k Kind, name string) []byte {
	b := []byte{entryKey}
	if customer != "" {
		b = append(append([]byte{customerKey}, customer...), 0)
	}
	return append(append(b, byte(k)), name...)
}

// entryAt reads a key of an entry.
func entryAt(key []byte) (e Entry, err error) {
	rest := key[1:]
	if key[0] == customerKey {
		name, kind, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return e, errDamaged
		}
		e.Customer, rest = string(name), kind
	}
	if len(rest) == 0 || int(rest[0]) >= len(Kinds) {
		return e, errDamaged
	}
	e.Kind, e.Name = Kind(rest[0]), string(rest[1:])
	return e, nil
}

func place(partition int32) []byte {
	return binary.BigEndian.AppendUint32([]byte{readKey}, uint32(partition))
}

func groupAt(number uint64) []byte { return binary.BigEndian.AppendUint64([]byte{groupKey}, number) }

func pack(e Entry) []byte {
	b := binary.AppendVarint(nil, e.First)
	b = binary.AppendVarint(b, e.Last)
	b = binary.AppendUvarint(b, e.Points)
	b = binary.AppendVarint(b, e.At)
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(e.Rate))
}

var errDamaged = errors.New("an entry of the index is damaged")

// unpack decodes an entry, or returns errDamaged.
func unpack(b []byte) (e Entry, err error) {
	take := func() int64 {
		v, n := binary.Varint(b)
		if n <= 0 {
			err = errDamaged
			return 0
		}
		b = b[n:]
		return v
	}
	e.First, e.Last = take(), take()
	points, n := binary.Uvarint(b)
	if n <= 0 {
		return e, errDamaged
	}
	e.Points, b = points, b[n:]
	e.At = take()
	if err != nil || len(b) != 8 {
		return e, errDamaged
	}
	e.Rate = math.Float64frombits(binary.LittleEndian.Uint64(b))
	return e, nil
}

// A merging joins the values under one key.
type merging struct{ sum Entry }

func startMerge(_, value []byte) (pebble.ValueMerger, error) {
	e, err := unpack(value)
	return &merging{e}, err
}

func (m *merging) MergeNewer(value []byte) error {
	e, err := unpack(value)
	m.sum = join(m.sum, e)
	return err
}

func (m *merging) MergeOlder(value []byte) error {
	e, err := unpack(value)
	m.sum = join(e, m.sum)
	return err
}

func (m *merging) Finish(bool) ([]byte, io.Closer, error) { return pack(m.sum), nil, nil }

// Apply implements [Index].
func (x *pebbleIndex) Apply(ctx context.Context, c Change) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	b, err := x.batch(ctx, c)
	if b == nil {
		x.end()
		return err
	}
	return x.commit(ctx, b)
}

// begin waits for the previous change, which may still be written after its caller gave up. Until
// then nobody can tell whether it is. A change that has begun ends with commit or end.
func (x *pebbleIndex) begin(ctx context.Context) error {
	for {
		select {
		case x.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err := x.ballast.checkRoom(); err != nil {
			return err
		}
	}
}

func (x *pebbleIndex) end() { <-x.turn }

// batch returns the writes of a change. It returns nil if the change is written already, or may not
// be written.
func (x *pebbleIndex) batch(ctx context.Context, c Change) (*pebble.Batch, error) {
	if written, err := x.Read(ctx); err != nil || has(written, c.Read) {
		return nil, err
	}
	if err := x.room(); err != nil {
		return nil, err
	}
	b := x.db.NewBatch()
	if err := fill(b, c); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// room returns an error while changes must not be written.
func (x *pebbleIndex) room() error {
	if err := x.ballast.restore(x.reserve); err != nil {
		return err
	}
	return disk.Room(x.dir, x.reserve)
}

// fill puts a change into a batch.
func fill(b *pebble.Batch, c Change) error {
	for _, e := range c.Entries {
		if err := b.Merge(key(e.Customer, e.Kind, e.Name), pack(e), nil); err != nil {
			return err
		}
	}
	for partition, at := range c.Read {
		if err := b.Set(place(partition), binary.AppendVarint(nil, at), nil); err != nil {
			return err
		}
	}
	return setGroup(b, c)
}

// commit writes a batch and closes it. It returns when ctx is done. The write may continue after
// that, for example while it waits for room on a full disk.
func (x *pebbleIndex) commit(ctx context.Context, b *pebble.Batch) error {
	written := make(chan error, 1)
	go func() {
		defer x.end()
		written <- errors.Join(b.Commit(pebble.Sync), b.Close())
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// DiskFull returns how often a write of the log met the disk's end, and whether the index is read
// only since.
func (x *pebbleIndex) DiskFull() (met uint64, readOnly bool) {
	return x.ballast.met.Load(), x.ballast.readOnly()
}

func setGroup(b *pebble.Batch, c Change) error {
	if c.Before > 0 {
		if err := b.DeleteRange(groupAt(0), groupAt(c.Before), nil); err != nil {
			return err
		}
	}
	if len(c.Group.IDs) == 0 {
		return nil
	}
	return b.Set(groupAt(c.Group.Number), packIDs(c.Group.IDs), nil)
}

// Groups implements [Index].
func (x *pebbleIndex) Groups(context.Context) (groups []Group, _ error) {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: []byte{groupKey}, UpperBound: []byte{groupKey + 1}})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		ids, err := unpackIDs(it.Value())
		if err != nil || len(it.Key()) != 9 {
			return nil, errDamaged
		}
		groups = append(groups, Group{binary.BigEndian.Uint64(it.Key()[1:]), ids})
	}
	return groups, it.Error()
}

// Read implements [Index].
func (x *pebbleIndex) Read(context.Context) (map[int32]int64, error) {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: []byte{readKey}, UpperBound: []byte{readKey + 1}})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	read := map[int32]int64{}
	for it.First(); it.Valid(); it.Next() {
		at, n := binary.Varint(it.Value())
		if n <= 0 || len(it.Key()) != 5 {
			return nil, errDamaged
		}
		read[int32(binary.BigEndian.Uint32(it.Key()[1:]))] = at
	}
	return read, it.Error()
}

// Get implements [Index].
func (x *pebbleIndex) Get(_ context.Context, customer string, k Kind, name string) (Entry, bool, error) {
	value, closer, err := x.db.Get(key(customer, k, name))
	if errors.Is(err, pebble.ErrNotFound) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, err
	}
	defer closer.Close()
	e, err := unpack(value)
	e.Customer, e.Kind, e.Name = customer, k, name
	return e, err == nil, err
}

// scan calls do with the entries from a key on, until it returns false.
func (x *pebbleIndex) scan(from, to []byte, do func(Entry) bool) error {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		e, err := unpack(it.Value())
		whose, damaged := entryAt(it.Key())
		if err = errors.Join(err, damaged); err != nil {
			return fmt.Errorf("%w: %q", err, it.Key())
		}
		e.Customer, e.Kind, e.Name = whose.Customer, whose.Kind, whose.Name
		if !do(e) {
			break
		}
	}
	return it.Error()
}

// List implements [Index].
func (x *pebbleIndex) List(_ context.Context, customer string, k Kind, after string, most int) (out []Entry, _ error) {
	if most <= 0 {
		return nil, nil
	}
	from := append(key(customer, k, after), 0) // the least key after it
	if after == "" {
		from = key(customer, k, "")
	}
	err := x.scan(from, key(customer, k+1, ""), func(e Entry) bool {
		out = append(out, e)
		return len(out) < most
	})
	return out, err
}

// Customers implements [Index]. It skips from the first key of a customer to that of the next.
func (x *pebbleIndex) Customers(context.Context) (customers []string, _ error) {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: []byte{customerKey}, UpperBound: []byte{entryKey + 1}})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if it.SeekGE([]byte{entryKey}) {
		customers = append(customers, "")
	}
	for ok := it.First(); ok && it.Key()[0] == customerKey; {
		e, err := entryAt(it.Key())
		if err != nil {
			return nil, fmt.Errorf("%w: %q", err, it.Key())
		}
		customers = append(customers, e.Customer)
		ok = it.SeekGE(append(append([]byte{customerKey}, e.Customer...), 1))
	}
	return customers, it.Error()
}

// Forget implements [Index].
func (x *pebbleIndex) Forget(ctx context.Context, before int64) (gone int, _ error) {
	if err := x.begin(ctx); err != nil {
		return 0, err
	}
	b, gone, err := x.removalOfOld(before)
	if b == nil {
		x.end()
		return 0, err
	}
	return gone, x.commit(ctx, b)
}

// removalOfOld returns the removal of entries that were last seen before a time. It returns nil if
// there are none, or if nothing may be written.
func (x *pebbleIndex) removalOfOld(before int64) (_ *pebble.Batch, gone int, _ error) {
	if err := x.room(); err != nil {
		return nil, 0, err
	}
	b := x.db.NewBatch()
	forget := func(e Entry) bool {
		if e.Last < before {
			b.Delete(key(e.Customer, e.Kind, e.Name), nil) // a batch in memory does not fail
			gone++
		}
		return true
	}
	err := errors.Join(x.scan([]byte{customerKey}, []byte{customerKey + 1}, forget),
		x.scan([]byte{entryKey}, []byte{entryKey + 1}, forget))
	if err != nil || gone == 0 {
		return nil, 0, errors.Join(err, b.Close())
	}
	return b, gone, nil
}

// closeWithin bounds Close's wait for a write whose caller has gone.
const closeWithin = 10 * time.Second

// Close implements [Index]. If a write, or the last write of the log, waits for room or for
// anything else too long, Close leaves the store as a crash would. That costs nothing that was
// written.
func (x *pebbleIndex) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if x.begin(ctx) != nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- x.db.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return nil
	}
}
