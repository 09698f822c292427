package index

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// openers open an empty index of every built-in kind, and open it again.
var openers = map[string]func(t *testing.T) (open func() Index){
	"pebble": func(t *testing.T) func() Index {
		dir := t.TempDir()
		return func() Index {
			x, err := OpenPebble(PebbleOptions{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	},
}

func TestIndex(t *testing.T) {
	for name, start := range openers {
		t.Run(name, func(t *testing.T) {
			open := start(t)
			x := open()
			for _, test := range []func(*testing.T, Index){testJoining, testListing, testWriters, testForgetting,
				testCustomers} {
				test(t, x)
			}
			testPlaces(t, x, open)
			testGroups(t, open)
		})
	}
}

// TestAChangeThatIsGivenUp abandons changes while they are written and makes them again at once, as
// the processor does when it is stopped: each counts once.
func TestAChangeThatIsGivenUp(t *testing.T) {
	for name, start := range openers {
		t.Run(name, func(t *testing.T) {
			x := start(t)()
			defer x.Close()
			var c Change
			for i := range 500 {
				c.Entries = append(c.Entries,
					Entry{Kind: Metric, Name: fmt.Sprint("given.up", i), First: 1, Last: 1, Points: 1})
			}
			const changes = 60
			for i := range changes {
				c.Read = map[int32]int64{0: int64(i)}
				ctx, giveUp := context.WithCancel(t.Context())
				time.AfterFunc(time.Duration(i%12)*250*time.Microsecond, giveUp)
				x.Apply(ctx, c) // written, or not, or soon
				giveUp()
				apply(t, x, c)
			}
			for _, e := range []Entry{c.Entries[0], c.Entries[len(c.Entries)-1]} {
				e.Points = changes
				want(t, x, e)
			}
		})
	}
}

func apply(t *testing.T, x Index, c Change) {
	t.Helper()
	if err := x.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, x Index, e Entry) {
	t.Helper()
	got, ok, err := x.Get(t.Context(), e.Customer, e.Kind, e.Name)
	if err != nil || !ok || got != e {
		t.Errorf("got %+v, %v, %v; want %+v", got, ok, err, e)
	}
}

func testJoining(t *testing.T, x Index) {
	if _, ok, err := x.Get(t.Context(), "", Metric, "a"); ok || err != nil {
		t.Errorf("an entry of an empty index: %v, %v", ok, err)
	}
	apply(t, x, Change{})
	// The news, then figures twice, one of them for the same name in one change.
	apply(t, x, Change{Entries: []Entry{{Kind: Metric, Name: "a", First: 50, Last: 50}}})
	apply(t, x, Change{Entries: []Entry{{Kind: Metric, Name: "a", First: 40, Last: 60, Points: 7, Rate: 0.5, At: 100}}})
	apply(t, x, Change{Entries: []Entry{
		{Kind: Metric, Name: "a", First: 55, Last: 70, Points: 2, Rate: 0.25, At: 200},
		// written by a clock that was set back
		{Kind: Metric, Name: "a", First: 45, Last: 65, Points: 1, Rate: 9, At: 150},
		{Kind: Metric, Name: "a", First: 50, Last: 60},
		{Kind: Host, Name: "a", First: 1, Last: 2, Points: 3},
	}})
	want(t, x, Entry{"", Metric, "a", 40, 70, 10, 9, 150})
	want(t, x, Entry{"", Host, "a", 1, 2, 3, 0, 0})
}

func testListing(t *testing.T, x Index) {
	var c Change
	for i := range 25 {
		c.Entries = append(c.Entries, Entry{Kind: Tag, Name: fmt.Sprintf("env:%02d", i), First: 1, Last: 1})
	}
	c.Entries = append(c.Entries, Entry{Kind: Tag, Name: "Z", First: 1, Last: 1},
		Entry{Kind: Tag, Name: "größe", First: 1, Last: 1})
	apply(t, x, c)
	var got []string
	for after := ""; ; {
		page, err := x.List(t.Context(), "", Tag, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			got = append(got, e.Name)
		}
		after = page[len(page)-1].Name
	}
	if len(got) != 27 || !slices.IsSorted(got) || got[0] != "Z" || got[26] != "größe" {
		t.Errorf("listed %q", got)
	}
	if names, err := Names(t.Context(), x, "", Tag); err != nil || !slices.Equal(names, got) {
		t.Errorf("all names: %q, %v", names, err)
	}
	if none, err := x.List(t.Context(), "", Tag, "", 0); len(none) != 0 || err != nil {
		t.Errorf("a list of none: %v, %v", none, err)
	}
}

// testWriters adds from several goroutines: every point must be there.
func testWriters(t *testing.T, x Index) {
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 10 {
				c := Change{
					Entries: []Entry{{Kind: App, Name: "b", First: int64(w), Last: int64(i), Points: 1},
						{Kind: App, Name: "a", Points: 1}},
				}
				if err := x.Apply(context.Background(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want(t, x, Entry{"", App, "b", 0, 9, 40, 0, 0})
}

func testForgetting(t *testing.T, x Index) {
	apply(t, x, Change{
		Entries: []Entry{{Kind: Host, Name: "old", First: 1, Last: 10},
			{Kind: Host, Name: "new", First: 1, Last: 5000}},
	})
	if gone, err := x.Forget(t.Context(), 11); err != nil || gone < 1 {
		t.Errorf("%d forgotten, %v", gone, err)
	}
	if _, ok, _ := x.Get(t.Context(), "", Host, "old"); ok {
		t.Error("an entry that was to be forgotten is there")
	}
	want(t, x, Entry{"", Host, "new", 1, 5000, 0, 0, 0})
	apply(t, x, Change{Entries: []Entry{{Kind: Host, Name: "old", First: 20, Last: 30, Points: 1}}})
	want(t, x, Entry{"", Host, "old", 20, 30, 1, 0, 0})
}

// testCustomers writes the same names for customers, one of whose names is the beginning of
// another's: each has its own figures.
func testCustomers(t *testing.T, x Index) {
	whose := []string{"", "a", "a.b", "ab"}
	for i, customer := range whose {
		apply(t, x, Change{Entries: []Entry{
			{Customer: customer, Kind: Metric, Name: "shared", First: 1, Last: int64(5000 + i), Points: uint64(i + 1)},
			{Customer: customer, Kind: Tag, Name: "only:" + customer, First: 1, Last: 10},
		}})
	}
	if got, err := x.Customers(t.Context()); err != nil || !slices.Equal(got, whose) {
		t.Errorf("customers %q, %v; want %q", got, err, whose)
	}
	for i, customer := range whose {
		want(t, x, Entry{customer, Metric, "shared", 1, int64(5000 + i), uint64(i + 1), 0, 0})
		for k, name := range map[Kind]string{Metric: "shared", Tag: "only:" + customer, App: ""} {
			names, err := Names(t.Context(), x, customer, k)
			if customer != "" && name != "" && (err != nil || !slices.Equal(names, []string{name})) {
				t.Errorf("%q: %ss %q, %v; want %q", customer, k, names, err, name)
			}
		}
	}
	if _, ok, err := x.Get(t.Context(), "a", Tag, "only:ab"); ok || err != nil {
		t.Errorf("a tag of another customer: %v, %v", ok, err)
	}
	if gone, err := x.Forget(t.Context(), 11); err != nil || gone < len(whose) {
		t.Errorf("%d forgotten, %v", gone, err)
	}
	if left, err := Names(t.Context(), x, "ab", Tag); err != nil || len(left) != 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}

// testPlaces closes the index and opens it again.
func testPlaces(t *testing.T, x Index, open func() Index) {
	apply(t, x, Change{Read: map[int32]int64{0: 17, 3: 5}})
	for range 2 { // the second repeats the first, after an answer that got lost
		apply(t, x, Change{
			Entries: []Entry{{Kind: Metric, Name: "kept", First: 1, Last: 1, Points: 1}},
			Read:    map[int32]int64{0: 18},
		})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	again := open()
	defer again.Close()
	read, err := again.Read(t.Context())
	if err != nil || !reflect.DeepEqual(read, map[int32]int64{0: 18, 3: 5}) {
		t.Errorf("read up to %v, %v", read, err)
	}
	want(t, again, Entry{"", Metric, "kept", 1, 1, 1, 0, 0})
}

// testGroups writes groups, lets the oldest go, and opens the index again.
func testGroups(t *testing.T, open func() Index) {
	x := open()
	group := func(n uint64) Group { return Group{n, []wire.ID{{byte(n)}, {15: byte(n)}}} }
	for n := range uint64(5) {
		apply(t, x, Change{Group: group(n), Before: max(n, 2) - 2})
	}
	apply(t, x, Change{Group: group(4)}) // repeated, after an answer that got lost
	apply(t, x, Change{Group: Group{Number: 5}})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	again := open()
	defer again.Close()
	groups, err := again.Groups(t.Context())
	if want := []Group{group(2), group(3), group(4)}; err != nil || !reflect.DeepEqual(groups, want) {
		t.Errorf("groups %v, %v; want %v", groups, err, want)
	}
	if _, err := unpackIDs(make([]byte, 17)); err == nil {
		t.Error("half an ID was read")
	}
}

func TestDamagedEntriesAreErrors(t *testing.T) {
	whole := pack(Entry{First: 1, Last: 2, Points: 3, Rate: 4, At: 5})
	for i := range whole {
		if e, err := unpack(whole[:i]); err == nil {
			t.Errorf("%d bytes of %d were read as %+v", i, len(whole), e)
		}
	}
	if _, err := unpack(append(whole, 0)); err == nil {
		t.Error("an entry with something behind it was read")
	}
}

// FuzzUnpack reads any bytes, as of a damaged file.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(Entry{First: 1, Last: 2, Points: 3, Rate: 4, At: 5}))
	f.Add(packIDs([]wire.ID{{1}, {2}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := unpack(b); err == nil {
			if again, err := unpack(pack(e)); err != nil || again != e && e.Rate == e.Rate {
				t.Errorf("%+v came back as %+v, %v", e, again, err)
			}
		}
		if ids, err := unpackIDs(b); err == nil && !bytes.Equal(packIDs(ids), b) {
			t.Errorf("%x came back as %x", b, packIDs(ids))
		}
	})
}
