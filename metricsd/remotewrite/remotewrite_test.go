package remotewrite

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// receiver reads requests with a decoder of its own.
type receiver struct {
	mu       sync.Mutex
	series   []string
	requests int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	compressed, _ := io.ReadAll(request.Body)
	body, err := snappy.Decode(nil, compressed)
	h := request.Header
	if err != nil || h.Get("Content-Encoding") != "snappy" || h.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" ||
		h.Get("Authorization") != "Bearer t" {
		http.Error(w, fmt.Sprint(err, h), http.StatusBadRequest)
		return
	}
	fields(body, func(_ protowire.Number, _ uint64, b []byte) { r.series = append(r.series, decode(b)) })
}

func decode(series []byte) string {
	var labels []string
	sample := ""
	fields(series, func(field protowire.Number, _ uint64, b []byte) {
		var parts []string
		var value float64
		var time uint64
		fields(b, func(inner protowire.Number, n uint64, b []byte) {
			switch {
			case field == 1:
				parts = append(parts, string(b))
			case inner == 1:
				value = math.Float64frombits(n)
			default:
				time = n
			}
		})
		if field == 1 {
			labels = append(labels, strings.Join(parts, "="))
		} else {
			sample = fmt.Sprint(value, " ", time)
		}
	})
	return strings.Join(labels, ",") + " " + sample
}

func fields(b []byte, f func(protowire.Number, uint64, []byte)) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		b = b[n:]
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(b)
		default:
			content, n = protowire.ConsumeBytes(b)
		}
		f(field, number, content)
		b = b[n:]
	}
}

func send(t *testing.T, states []aggregate.State) (*receiver, *Output) {
	t.Helper()
	r := new(receiver)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	q, err := queue.Open(t.TempDir(), 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Options{Token: "t", Deliver: deliver.Options{URL: server.URL + "/api/v1/write"}}, q,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o.Send(aggregate.Flush{Time: 1700000000, States: func() []aggregate.State { return states }})
	o.Finish(t.Context())
	return r, o
}

func state(name string, typ dogstatsd.Type, value float64, tags ...string) aggregate.State {
	return aggregate.State{Context: aggregate.Context{Name: name, Type: typ, Tags: tags, Host: "web"}, Value: value}
}

func TestSend(t *testing.T) {
	sketch := state("d", dogstatsd.Distribution, 0)
	sketch.Sum, sketch.Count = 7, 2
	r, o := send(t,
		[]aggregate.State{state("page.views", dogstatsd.Count, 3, "env:prod", "Zone:a"),
			state("g", dogstatsd.Gauge, 0.5), state("g", dogstatsd.Gauge, 9), sketch})
	slices.Sort(r.series)
	want := []string{
		"Zone=a,__name__=page_views_total,env=prod,host=web 3 1700000000000",
		"__name__=d_count,host=web 2 1700000000000",
		"__name__=d_sum,host=web 7 1700000000000",
		"__name__=g,host=web 0.5 1700000000000",
	}
	if !slices.Equal(r.series, want) {
		t.Errorf("got\n%s", strings.Join(r.series, "\n"))
	}
	var p expose.Page
	o.OwnMetrics(&p)
	var out strings.Builder
	p.WriteTo(&out)
	for _, line := range []string{"metricsd_remote_write_collisions 1", "metricsd_remote_write_payloads_sent_total 1"} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("%s is missing in\n%s", line, out.String())
		}
	}
}

func TestLargeFlushesAreSplit(t *testing.T) {
	states := make([]aggregate.State, 30_000)
	for i := range states {
		states[i] = state(fmt.Sprint("metric.", i), dogstatsd.Gauge, 1, "env:prod")
	}
	r, _ := send(t, states)
	if r.requests < 2 || len(r.series) != len(states) {
		t.Errorf("%d requests, %d series", r.requests, len(r.series))
	}
}

func TestURLIsChecked(t *testing.T) {
	if _, err := New(Options{}, nil, nil); err == nil || !strings.Contains(err.Error(), "remote_write.url") {
		t.Errorf("got %v", err)
	}
}
