//go:build !embedded

package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// schema is made at the first start. Names compare by their bytes, as in Pebble.
const schema = `
create table if not exists metricsd_entries (
	customer text collate "C" not null default '',
	kind     smallint not null,
	name     text collate "C" not null,
	first    bigint not null,
	last     bigint not null,
	points   bigint not null,
	rate     double precision not null,
	rated_at bigint not null,
	primary key (customer, kind, name)
);
do $$ begin -- a table of a metricsd that knew no customers
	if not exists (select from pg_attribute
		where attrelid = 'metricsd_entries'::regclass and attname = 'customer' and not attisdropped) then
		alter table metricsd_entries
			add column customer text collate "C" not null default '',
			drop constraint metricsd_entries_pkey,
			add primary key (customer, kind, name);
	end if;
end $$;
create index if not exists metricsd_entries_last on metricsd_entries (last);
create table if not exists metricsd_read (
	partition integer primary key,
	place     bigint not null
);
create table if not exists metricsd_groups (
	number bigint primary key,
	ids    bytea not null
)`

const upsert = `
insert into metricsd_entries as e (customer, kind, name, first, last, points, rate, rated_at)
select * from unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
	$7::double precision[], $8::bigint[])
on conflict (customer, kind, name) do update set
	first    = least(e.first, excluded.first),
	last     = greatest(e.last, excluded.last),
	points   = e.points + excluded.points,
	rate     = case when excluded.rated_at <> 0 then excluded.rate else e.rate end,
	rated_at = case when excluded.rated_at <> 0 then excluded.rated_at else e.rated_at end`

type postgresIndex struct{ pool *pgxpool.Pool }

// OpenPostgres opens an index in a database, whose tables are made if need be. The
// address is a URL or a list of key=value, as libpq takes them.
func OpenPostgres(ctx context.Context, address string) (Index, error) {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("index: the address of PostgreSQL cannot be read: %w", err)
	}
	if err := prepare(ctx, pool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("index: PostgreSQL at %s: %w", pool.Config().ConnConfig.Host, err)
	}
	return &postgresIndex{pool}, nil
}

// prepare makes the tables. A large table of an older metricsd takes minutes to get its new key, so
// only the first answer of the server has a deadline.
func prepare(ctx context.Context, pool *pgxpool.Pool) error {
	soon, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := pool.Ping(soon); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, schema)
	return err
}

// columns are the arrays of an upsert.
type columns struct {
	customers, names             []string
	kinds                        []int16
	first, last, points, ratedAt []int64
	rates                        []float64
}

// columnsOf joins entries of one name, since a statement may touch a row once. It sorts them, so
// that two writers cannot wait for each other.
func columnsOf(entries []Entry) (c columns) {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, byName)
	for i := 0; i < len(entries); {
		e := entries[i]
		for i++; i < len(entries) && byName(entries[i], e) == 0; i++ {
			e = join(e, entries[i])
		}
		c.customers, c.kinds = append(c.customers, e.Customer), append(c.kinds, int16(e.Kind))
		c.names = append(c.names, e.Name)
		c.first, c.last = append(c.first, e.First), append(c.last, e.Last)
		c.points, c.rates, c.ratedAt = append(c.points, int64(e.Points)), append(c.rates, e.Rate),
			append(c.ratedAt, e.At)
	}
	return c
}

// Apply implements [Index].
func (x *postgresIndex) Apply(ctx context.Context, change Change) error {
	return pgx.BeginFunc(ctx, x.pool, func(tx pgx.Tx) error {
		// Write one change at a time. A change whose caller has gone may still be written, and only
		// then it is visible.
		if _, err := tx.Exec(ctx, `lock table metricsd_read in share row exclusive mode`); err != nil {
			return err
		}
		if written, err := places(ctx, tx); err != nil || has(written, change.Read) {
			return err
		}
		const at = 10_000 // rows a statement
		for some := range slices.Chunk(change.Entries, at) {
			c := columnsOf(some)
			if _, err := tx.Exec(ctx, upsert, c.customers, c.kinds, c.names, c.first, c.last, c.points,
				c.rates, c.ratedAt); err != nil {
				return err
			}
		}
		for partition, place := range change.Read {
			const set = `insert into metricsd_read values ($1, $2)
				on conflict (partition) do update set place = excluded.place`
			if _, err := tx.Exec(ctx, set, partition, place); err != nil {
				return err
			}
		}
		return setGroupRow(ctx, tx, change)
	})
}

func setGroupRow(ctx context.Context, tx pgx.Tx, c Change) error {
	if c.Before > 0 {
		if _, err := tx.Exec(ctx, `delete from metricsd_groups where number < $1`, int64(c.Before)); err != nil {
			return err
		}
	}
	if len(c.Group.IDs) == 0 {
		return nil
	}
	const set = `insert into metricsd_groups values ($1, $2) on conflict (number) do update set ids = excluded.ids`
	_, err := tx.Exec(ctx, set, int64(c.Group.Number), packIDs(c.Group.IDs))
	return err
}

// Groups implements [Index].
func (x *postgresIndex) Groups(ctx context.Context) (groups []Group, _ error) {
	rows, err := x.pool.Query(ctx, `select number, ids from metricsd_groups order by number`)
	if err != nil {
		return nil, err
	}
	var number int64
	var packed []byte
	_, err = pgx.ForEachRow(rows, []any{&number, &packed}, func() error {
		ids, err := unpackIDs(packed)
		groups = append(groups, Group{uint64(number), ids})
		return err
	})
	return groups, err
}

// Read implements [Index].
func (x *postgresIndex) Read(ctx context.Context) (map[int32]int64, error) {
	return places(ctx, x.pool)
}

func places(ctx context.Context, in interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}) (map[int32]int64, error) {
	rows, err := in.Query(ctx, `select partition, place from metricsd_read`)
	if err != nil {
		return nil, err
	}
	read := map[int32]int64{}
	var partition int32
	var place int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &place}, func() error {
		read[partition] = place
		return nil
	})
	return read, err
}

const selectEntry = `select customer, kind, name, first, last, points, rate, rated_at from metricsd_entries `

func scanEntry(row pgx.CollectableRow) (e Entry, err error) {
	var kind int16
	var points int64
	err = row.Scan(&e.Customer, &kind, &e.Name, &e.First, &e.Last, &points, &e.Rate, &e.At)
	e.Kind, e.Points = Kind(kind), uint64(points)
	return e, err
}

// Get implements [Index].
func (x *postgresIndex) Get(ctx context.Context, customer string, k Kind, name string) (Entry, bool, error) {
	const one = selectEntry + `where customer = $1 and kind = $2 and name = $3`
	rows, err := x.pool.Query(ctx, one, customer, int16(k), name)
	if err != nil {
		return Entry{}, false, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if errors.Is(err, pgx.ErrNoRows) {
		return Entry{}, false, nil
	}
	return e, err == nil, err
}

// List implements [Index].
func (x *postgresIndex) List(ctx context.Context, customer string, k Kind, after string, most int) ([]Entry, error) {
	const page = selectEntry + `where customer = $1 and kind = $2 and name > $3 order by name limit $4`
	rows, err := x.pool.Query(ctx, page, customer, int16(k), after, max(0, most))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanEntry)
}

// eachCustomer skips from the first row of a customer to that of the next: "distinct" would read
// the whole table.
const eachCustomer = `
with recursive c as (
	(select customer from metricsd_entries order by customer limit 1)
	union all
	select (select e.customer from metricsd_entries e where e.customer > c.customer order by e.customer limit 1)
	from c where c.customer is not null
) select customer from c where customer is not null`

// Customers implements [Index].
func (x *postgresIndex) Customers(ctx context.Context) ([]string, error) {
	rows, err := x.pool.Query(ctx, eachCustomer)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Forget implements [Index].
func (x *postgresIndex) Forget(ctx context.Context, before int64) (int, error) {
	tag, err := x.pool.Exec(ctx, `delete from metricsd_entries where last < $1`, before)
	return int(tag.RowsAffected()), err
}

// Close implements [Index].
func (x *postgresIndex) Close() error {
	x.pool.Close()
	return nil
}
