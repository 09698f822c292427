package intake

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

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

func shown(entries []index.Entry) []entryJSON {
	out := make([]entryJSON, len(entries))
	for i, e := range entries {
		out[i] = entryJSON{e.Kind.String(), e.Name, time.Unix(e.First, 0).UTC(), time.Unix(e.Last, 0).UTC(),
			e.Points, e.Rate}
	}
	return out
}

// A stage is a part of the way and how full the queue before it is.
type stage struct {
	Name    string `json:"stage"`
	Waiting int64  `json:"waiting"`
	Bound   int64  `json:"bound,omitempty"` // 0 for none of ours
	Unit    string `json:"unit"`
	Away    bool   `json:"away,omitempty"` // it does not answer: Kafka's brokers are away, or the queue is broken
}

const mostListed = 1000

// query reads what all requests for names have in common.
func query(r *http.Request) (k index.Kind, limit int, err error) {
	q := r.URL.Query()
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
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostListed {
			return 0, 0, fmt.Errorf("limit %q is not a number from 1 to %d", text, mostListed)
		}
	}
	return k, limit, nil
}

// handleAPI adds what one can ask.
func (in *Intake) handleAPI(mux *http.ServeMux) {
	ask := func(path string, answer func(r *http.Request, k index.Kind, limit int) (any, error)) {
		mux.Handle("GET "+path, in.door.guarded(func(w http.ResponseWriter, r *http.Request) {
			k, limit, err := query(r)
			if err != nil {
				fail(w, http.StatusBadRequest, err)
				return
			}
			v, err := answer(r, k, limit)
			if err != nil {
				in.log.Error("a question was not answered", "path", path, "error", err)
				fail(w, http.StatusInternalServerError, err)
				return
			}
			web.JSON(w, http.StatusOK, v)
		}))
	}
	ask("/api/names", in.complete)
	ask("/api/entries", in.entries)
	ask("/api/top", func(_ *http.Request, k index.Kind, limit int) (any, error) {
		top := in.processor.top.Load()[k]
		return shown(top[:min(limit, len(top))]), nil
	})
	ask("/api/overview", func(r *http.Request, _ index.Kind, limit int) (any, error) {
		return in.overview(r, limit), nil
	})
}

// complete is auto-completion: prefix=, or contains= for any substring. A tag is looked for as it
// was typed, and in the form that tags have.
func (in *Intake) complete(r *http.Request, k index.Kind, limit int) (any, error) {
	directory, clean := in.processor.names[k], in.processor.tags.prefix
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
func (in *Intake) entries(r *http.Request, k index.Kind, limit int) (any, error) {
	q := r.URL.Query()
	if q.Has("name") {
		e, ok, err := in.processor.index.Get(r.Context(), k, q.Get("name"))
		if err != nil || !ok {
			return []entryJSON{}, err
		}
		return shown([]index.Entry{e}), nil
	}
	entries, err := in.processor.index.List(r.Context(), k, q.Get("after"), limit)
	return shown(entries), err
}

// Overview is what the page shows.
type Overview struct {
	Names  map[string]int         `json:"names"` // by kind
	Top    map[string][]entryJSON `json:"top"`   // by kind, the highest rates first
	Stages []stage                `json:"stages"`
}

func (in *Intake) overview(r *http.Request, limit int) Overview {
	o := Overview{Names: map[string]int{}, Top: map[string][]entryJSON{}, Stages: in.stages(r.Context())}
	top := in.processor.top.Load()
	for _, k := range index.Kinds {
		o.Names[k.String()], _ = in.processor.names[k].Len()
		o.Top[k.String()] = shown(top[k][:min(limit, len(top[k]))])
	}
	return o
}
