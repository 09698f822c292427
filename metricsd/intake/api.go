package intake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/tag"
	"github.com/beagle-go/beagle/metricsd/web"
)

// entryJSON is an entry as the API shows it. Times are RFC 3339.
type entryJSON struct {
	Kind   string    `json:"kind"`
	Name   string    `json:"name"`
	First  time.Time `json:"first_seen"`
	Last   time.Time `json:"last_seen"`
	Points uint64    `json:"points"` // counted so far; the last minutes may be missing
	Rate   float64   `json:"points_per_second"`
}

func entriesJSON(entries []index.Entry) []entryJSON {
	out := make([]entryJSON, len(entries))
	for i, e := range entries {
		out[i] = entryJSON{e.Kind.String(), e.Name, time.Unix(e.First, 0).UTC(), time.Unix(e.Last, 0).UTC(),
			e.Points, e.Rate}
	}
	return out
}

// A stage is a part of the pipeline, with the fill of the queue before it.
type stage struct {
	Name    string `json:"stage"`
	Waiting int64  `json:"waiting"`
	Bound   int64  `json:"bound,omitempty"` // 0 if the queue has no bound of ours
	Unit    string `json:"unit"`
	Away    bool   `json:"away,omitempty"` // it does not answer: Kafka's brokers are down, or the queue is broken
}

const maxListed = 1000

// nameParameters are the parameters that hold names, or parts of names.
var nameParameters = []string{"name", "after", "prefix", "contains"}

// query reads the parameters that all requests for names share. It refuses text that no name can
// hold: PostgreSQL would answer it with an error.
func query(r *http.Request) (k index.Kind, limit int, err error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, 0, fmt.Errorf("the query cannot be read: %w; escape its values as in ?prefix=web%%20a", err)
	}
	for _, parameter := range nameParameters {
		if text := q.Get(parameter); !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return 0, 0, fmt.Errorf("%s is %+q; give UTF-8 text without NUL", parameter, text)
		}
	}
	name := q.Get("kind")
	if name == "" {
		name = "metric"
	}
	k, ok := index.Named(name)
	if !ok {
		return 0, 0, fmt.Errorf("kind %q is not known; give metric, host, tag or app", name)
	}
	limit = 20
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxListed {
			return 0, 0, fmt.Errorf("limit %q is not a number from 1 to %d", text, maxListed)
		}
	}
	return k, limit, nil
}

// handleAPI adds the API's paths.
func (in *Intake) handleAPI(mux *http.ServeMux) {
	type question struct {
		*http.Request
		caller
		*shelf
		kind  index.Kind
		limit int
	}
	// Every request takes the same steps: the parameters, then whose names the caller may see, then
	// the answer. They refuse a customer who asks about another, so no answer needs to check.
	ask := func(path string, answer func(q question) (any, error)) {
		mux.Handle("GET "+path, in.door.admitKnown(func(w http.ResponseWriter, r *http.Request, c caller) {
			k, limit, err := query(r)
			if err != nil {
				web.Fail(w, http.StatusBadRequest, err)
				return
			}
			whose, err := in.shelf(r, c)
			if refused := (refusal{}); errors.As(err, &refused) {
				web.Fail(w, refused.status, err)
				return
			}
			v, err := answer(question{r, c, whose, k, limit})
			if err != nil {
				in.failed(w, r, err)
				return
			}
			web.JSON(w, http.StatusOK, v)
		}))
	}
	ask("/api/names", func(q question) (any, error) { return in.complete(q.Request, q.shelf, q.kind, q.limit) })
	ask("/api/entries", func(q question) (any, error) { return in.entries(q.Request, q.shelf, q.kind, q.limit) })
	// Ranks are made at intervals for all customers; a request sorts nothing.
	ask("/api/top", func(q question) (any, error) {
		top := in.processor.rankOf(q.shelf.customer).top[q.kind]
		return entriesJSON(top[:min(q.limit, len(top))]), nil
	})
	ask("/api/overview", func(q question) (any, error) {
		return in.overview(q.Context(), q.shelf, q.operator, q.limit), nil
	})
}

// errUnanswered is the only text that a caller sees of an internal error, which may name hosts,
// directories and other customers.
var errUnanswered = errors.New("the intake could not answer, its log says why; retry later")

// failed answers a request that met an internal error, and logs the error for the operator.
func (in *Intake) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // otherwise the caller has gone
		in.log.Error("a question was not answered", "path", r.URL.Path, "error", err)
	}
	web.Fail(w, http.StatusInternalServerError, errUnanswered)
}

// complete answers auto-completion: prefix=, or contains= for any substring. It looks for a tag as
// typed, and in the normal form of tags.
func (in *Intake) complete(r *http.Request, whose *shelf, k index.Kind, limit int) (any, error) {
	directory, clean := whose.names[k], in.processor.tags.prefix
	find := func(typed string) ([]string, bool) { return directory.Prefix(typed, limit), false }
	typed := r.URL.Query().Get("prefix")
	if contained := r.URL.Query().Get("contains"); contained != "" {
		typed, clean = contained, part
		find = func(typed string) ([]string, bool) { return directory.Contains(typed, limit) }
	}
	names, cut := find(typed)
	if form := clean(typed); k == index.Tag && form != "" && form != typed {
		more, cutToo := find(form)
		names, cut = tag.MergeTags(names, more), cut || cutToo
		names = names[:min(len(names), limit)]
	}
	return map[string]any{"names": nonNil(names), "cut": cut}, nil
}

func nonNil(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// entries lists a kind page by page: after= is the last name of the page before.
// name= asks for one.
func (in *Intake) entries(r *http.Request, whose *shelf, k index.Kind, limit int) (any, error) {
	q := r.URL.Query()
	if q.Has("name") {
		e, ok, err := in.processor.index.Get(r.Context(), whose.customer, k, q.Get("name"))
		if err != nil || !ok {
			return []entryJSON{}, err
		}
		return entriesJSON([]index.Entry{e}), nil
	}
	entries, err := in.processor.index.List(r.Context(), whose.customer, k, q.Get("after"), limit)
	return entriesJSON(entries), err
}

// Overview is the page's view of a customer. Only the operator sees Stages and Customers, which
// describe all customers.
type Overview struct {
	Customer  string                 `json:"customer,omitempty"` // when there are customers
	Names     map[string]int         `json:"names"`              // by kind
	Top       map[string][]entryJSON `json:"top"`                // by kind, the highest rates first
	Stages    []stage                `json:"stages,omitempty"`
	Customers []customerJSON         `json:"customers,omitempty"`
}

func (in *Intake) overview(ctx context.Context, whose *shelf, operator bool, limit int) Overview {
	o := Overview{Names: map[string]int{}, Top: map[string][]entryJSON{}}
	top := in.processor.rankOf(whose.customer).top
	for _, k := range index.Kinds {
		o.Names[k.String()], _ = whose.names[k].Len()
		o.Top[k.String()] = entriesJSON(top[k][:min(limit, len(top[k]))])
	}
	if in.door.keys.Load() != nil {
		o.Customer = customer.DisplayName(whose.customer)
	}
	if operator {
		o.Stages, o.Customers = in.stages(ctx), in.customers()
	}
	return o
}
