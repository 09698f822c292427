//go:build !embedded

package index

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/beagle-go/beagle/metricsd/intake/index/pgtest"
)

func init() {
	openers["postgres"] = func(t *testing.T) func() Index {
		address := pgtest.Start(t).Address
		return func() Index {
			x, err := OpenPostgres(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
}

// TestATableWithoutCustomers opens a database of a metricsd that knew no customers: its data belong
// to the default customer.
func TestATableWithoutCustomers(t *testing.T) {
	address := pgtest.Start(t).Address
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const old = `create table metricsd_entries (
		kind smallint not null, name text collate "C" not null, first bigint not null, last bigint not null,
		points bigint not null, rate double precision not null, rated_at bigint not null, primary key (kind, name));
		insert into metricsd_entries values (0, 'kept', 1, 2, 3, 0.5, 4)`
	if _, err := conn.Exec(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the new table
		x, err := OpenPostgres(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		want(t, x, Entry{"", Metric, "kept", 1, 2, 3, 0.5, 4})
		acme := Entry{Customer: "acme", Kind: Metric, Name: "kept", First: 5, Last: 6}
		apply(t, x, Change{Entries: []Entry{acme}})
		want(t, x, acme)
		x.Close()
	}
}
