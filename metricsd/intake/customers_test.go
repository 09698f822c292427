package intake

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/intake/index"
)

const (
	operatorToken = "the-operators-own-token"
	acmeKey       = "4f1cd2c0a9b84b2a9d0a6c1f3e5b7d90"
	globexKey     = "0d3b1f9c5e7a4c2d8b6f1a3e5c7d9b0f"
	unknownKey    = "99999999999999999999999999999999"
)

func keysOf(t testing.TB, text string) *customer.Keys {
	t.Helper()
	k, err := customer.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// twoCustomers returns options for an intake with acme and globex.
func twoCustomers(t testing.TB) Options {
	return Options{Token: operatorToken, Flush: 50 * time.Millisecond,
		Customers: keysOf(t, "acme "+acmeKey+"\nglobex "+globexKey)}
}

// as sends a request with a key, and expects the status want.
func (r *running) as(key string, want int, method, path string, body []byte, header ...string) []byte {
	r.t.Helper()
	status, text := r.do(method, path, body, append(header, "DD-API-KEY", key)...)
	if status != want {
		r.t.Errorf("%s %s: %d %s; want %d", method, path, status, text, want)
	}
	return text
}

// all returns everything that the holder of a key can get.
func (r *running) all(key, customer string) (text string) {
	r.t.Helper()
	if customer != "" {
		customer = "&customer=" + customer
	}
	for _, path := range []string{"/?x", "/api/overview?x", "/api/names?x", "/api/names?kind=host",
		"/api/names?kind=tag",
		"/api/names?kind=app", "/api/names?contains=a", "/api/names?contains=e&kind=tag", "/api/entries?x",
		"/api/entries?kind=host", "/api/entries?kind=tag", "/api/entries?kind=app", "/api/entries?name=shared.hits",
		"/api/top?x", "/api/top?kind=tag"} {
		text += string(r.as(key, http.StatusOK, "GET", path+customer, nil))
	}
	return text
}

// queues are the kinds of queue between door and processor; each opens the same queue again.
var queues = map[string]func(t *testing.T, dir string) func() bus.Bus{
	"embedded": func(t *testing.T, dir string) func() bus.Bus {
		return func() bus.Bus {
			b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: filepath.Join(dir, "queue"), Bytes: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	},
}

var indexes = map[string]func(t *testing.T, dir string) func() index.Index{
	"embedded": func(t *testing.T, dir string) func() index.Index {
		return func() index.Index {
			x, err := index.OpenPebble(index.PebbleOptions{Dir: filepath.Join(dir, "index")})
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	},
}

// TestCustomersAreKeptApart sends the same names, hosts and tags, and some of their own, for two
// customers and the operator, over each queue and each index. It looks for traces of one in all
// that another can get, before and after restarts.
func TestCustomersAreKeptApart(t *testing.T) {
	for queue, openQueue := range queues {
		for store, openIndex := range indexes {
			if queue != "embedded" && store != "embedded" {
				continue
			}
			t.Run(queue+" queue, "+store+" index", func(t *testing.T) {
				dir := t.TempDir()
				queue, index := openQueue(t, dir), openIndex(t, dir)
				o := twoCustomers(t)
				for round := range 2 { // the second begins with the first one's data
					r := run(t, o, queue(), index())
					sendForAll(r)
					lookForTraces(t, r, uint64(round+1))
					r.stop()
				}
			})
		}
	}
}

// senders are the points that each sends under the shared name.
var senders = map[string]struct {
	key    string
	points int
}{"acme": {acmeKey, 3}, "globex": {globexKey, 5}, "default": {operatorToken, 7}}

// sendForAll sends for all at the same time, so that messages of the queue hold several customers.
func sendForAll(r *running) {
	var all sync.WaitGroup
	for name, s := range senders {
		all.Go(func() {
			r.as(s.key, http.StatusAccepted, "POST", "/api/v1/series",
				body("shared.hits", "shared-host", s.points, "env:shared", "only:"+name))
			r.as(s.key, http.StatusAccepted, "POST", "/api/v1/series",
				body("secret."+name+".hits", "host-of-"+name, 1, "tag-of-"+name))
			// A customer's name that is a metric too, and the other way round.
			for other := range senders {
				if other != name {
					r.as(s.key, http.StatusAccepted, "POST", "/api/v1/series", body("named.hits", "", 1, "env:prod"))
				}
			}
		})
	}
	all.Wait()
}

// points returns the points of a shared name, as the holder of a key sees them.
func (r *running) points(key, customer string) uint64 {
	var e []entryJSON
	text := r.as(key, http.StatusOK, "GET", "/api/entries?name=shared.hits&customer="+customer, nil)
	decode(r.t, text, &e)
	if len(e) != 1 {
		return 0
	}
	return e[0].Points
}

func (r *running) overview(key, customer string) (o Overview) {
	decode(r.t, r.as(key, http.StatusOK, "GET", "/api/overview?customer="+customer, nil), &o)
	return o
}

func lookForTraces(t *testing.T, r *running, rounds uint64) {
	t.Helper()
	const metrics = 3 // of each; a queue may hand over one before another
	for name, s := range senders {
		r.eventually("counted for "+name, func() bool {
			return r.points(operatorToken, name) >= rounds*uint64(s.points) &&
				r.overview(operatorToken, name).Names["metric"] >= metrics
		})
	}
	r.eventually("ranked", func() bool { return r.processor.ranks.Load() != nil })
	for name, s := range senders {
		if got, want := r.points(operatorToken, name), rounds*uint64(s.points); got != want {
			t.Errorf("%s has %d points, want %d", name, got, want)
		}
		seen := map[string]string{"the operator's": r.all(operatorToken, name), "its own": r.all(s.key, "")}
		if name == "default" {
			delete(seen, "its own") // the operator may see the customers' names
		}
		for whose, text := range seen {
			for _, key := range []string{acmeKey, globexKey, operatorToken} {
				if strings.Contains(text, key) {
					t.Errorf("%s pages of %s show a key", whose, name)
				}
			}
			for other := range senders {
				own := strings.Contains(text, "secret."+other+".hits") || strings.Contains(text, "host-of-"+other) ||
					strings.Contains(text, "tag-of-"+other) || strings.Contains(text, "only:"+other)
				if own != (other == name) {
					t.Errorf("%s pages of %s show what is of %s: %v", whose, name, other, own)
				}
			}
		}
	}
	for _, name := range []string{"globex", "default"} {
		if strings.Contains(r.all(acmeKey, ""), name) {
			t.Errorf("acme learns of %s", name)
		}
	}
	o := r.overview(acmeKey, "")
	if o.Customer != "acme" || o.Names["metric"] != metrics || o.Stages != nil || o.Customers != nil {
		t.Errorf("acme's overview: %+v", o)
	}
}

// TestRatesOfCustomers checks the rates of each customer.
func TestRatesOfCustomers(t *testing.T) {
	o := twoCustomers(t)
	c := newClock()
	p := at(t, c, o)
	for customer, points := range map[string]int{"": 600, "acme": 60, "globex": 6} {
		for range 2 {
			p.take(oneParcel(customer, "shared.hits", points/2))
		}
	}
	c.jump(time.Minute)
	p.rank(c.now())
	for customer, want := range map[string]float64{"": 10, "acme": 1, "globex": 0.1, "nobody": 0} {
		r := p.rankOf(customer)
		if r.rate != want {
			t.Errorf("%q: %v points a second, want %v", customer, r.rate, want)
		}
		if want > 0 && (len(r.top[index.Metric]) != 1 || r.top[index.Metric][0].Rate != want) {
			t.Errorf("%q: ranked %+v", customer, r.top[index.Metric])
		}
	}
	if p.flush(t.Context()); len(p.pending) != 0 {
		t.Error("not written")
	}
	e, ok, err := p.index.Get(t.Context(), "acme", index.App, "shared")
	if err != nil || !ok || e.Rate != 1 || e.Points != 60 {
		t.Errorf("acme's app: %+v, %v, %v", e, ok, err)
	}
}

// TestWhatCustomersMayNot tries each way to another customer's names.
func TestWhatCustomersMayNot(t *testing.T) {
	var log safeText
	b := queues["embedded"](t, t.TempDir())()
	x := indexes["embedded"](t, t.TempDir())()
	r := runLogged(t, twoCustomers(t), b, x, slog.New(slog.NewTextHandler(&log, nil)))
	series := body("app.x", "h", 1)
	for _, path := range []string{"/api/v1/series", "/api/v2/series", "/api/beta/sketches", "/api/v1/check_run",
		"/intake/"} {
		text := r.as(unknownKey, http.StatusForbidden, "POST", path, series)
		if !strings.Contains(string(text), "not known") || strings.Contains(string(text), unknownKey) {
			t.Errorf("%s: an unknown key is told %s", path, text)
		}
		if got := r.status("POST", path, series); got != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d", path, got)
		}
	}
	r.as(unknownKey, http.StatusForbidden, "GET", "/api/v1/validate", nil)
	r.as(acmeKey, http.StatusOK, "GET", "/api/v1/validate", nil)
	if got := r.status("GET", "/api/v1/validate?api_key="+acmeKey, nil); got != http.StatusOK {
		t.Errorf("a key in the query: %d", got)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline"} {
		r.as(acmeKey, http.StatusForbidden, "GET", path, nil)
		r.as(unknownKey, http.StatusForbidden, "GET", path, nil)
		r.as(operatorToken, http.StatusOK, "GET", path, nil)
	}
	for _, path := range []string{"/?", "/api/overview?", "/api/names?", "/api/entries?", "/api/top?"} {
		r.as(acmeKey, http.StatusOK, "GET", path+"customer=acme", nil)
		r.as(acmeKey, http.StatusForbidden, "GET", path+"customer=globex", nil)
		r.as(acmeKey, http.StatusForbidden, "GET", path+"customer=default", nil)
		r.as(acmeKey, http.StatusForbidden, "GET", path+"customer=no%20name", nil)
		r.as(operatorToken, http.StatusOK, "GET", path+"customer=globex", nil)
		r.as(operatorToken, http.StatusNotFound, "GET", path+"customer=nobody", nil)
		r.as(unknownKey, http.StatusForbidden, "GET", path, nil)
		password := "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+acmeKey))
		if got := r.status("GET", path, nil, "Authorization", password); got != http.StatusOK {
			t.Errorf("%s with the key as password: %d", path, got)
		}
	}
	told := log.String()
	if strings.Count(told, customer.Fingerprint(unknownKey)) != 1 {
		t.Errorf("the operator is told %q", told)
	}
	page := string(r.as(operatorToken, http.StatusOK, "GET", "/metrics", nil))
	if !strings.Contains(page, `metricsd_intake_customer_points_total{customer="acme"} 0`) {
		t.Error("/metrics lacks acme's points")
	}
	for _, key := range []string{acmeKey, globexKey, unknownKey, operatorToken} {
		if strings.Contains(told, key) || strings.Contains(page, key) {
			t.Error("a key is in the log or in /metrics")
		}
	}
}

// TestTheSameRequestOfTwoCustomers sends word for word the same requests for two customers, with
// the same idempotency key, and as Datadog's agent: each counts for each, and once.
func TestTheSameRequestOfTwoCustomers(t *testing.T) {
	for name, header := range map[string][]string{
		"a key": {"Idempotency-Key", "k"}, "the agent": {"User-Agent", "datadog-agent/7.70.0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, t.TempDir(), twoCustomers(t))
			for range 3 {
				for _, key := range []string{acmeKey, globexKey} {
					r.as(key, http.StatusAccepted, "POST", "/api/v1/series", body("shared.hits", "h", 5), header...)
				}
			}
			for _, name := range []string{"acme", "globex"} {
				r.eventually("counted for "+name, func() bool { return r.points(operatorToken, name) == 5 })
			}
			r.eventually("all read", func() bool { return r.processor.counts.repeated.Load() == 4 })
			for _, name := range []string{"acme", "globex"} {
				if got := r.points(operatorToken, name); got != 5 {
					t.Errorf("%s: %d points", name, got)
				}
			}
		})
	}
}

// TestKeysChangeWhileTheIntakeRuns gives acme a new key, globex none, and initech its first.
func TestKeysChangeWhileTheIntakeRuns(t *testing.T) {
	r := start(t, t.TempDir(), twoCustomers(t))
	r.as(acmeKey, http.StatusAccepted, "POST", "/api/v1/series", body("shared.hits", "h", 5))
	const newKey, initechKey = "a-new-key-that-is-long-enough", "another-key-that-is-long-enough"
	if err := r.SetCustomers(keysOf(t, "acme "+newKey+"\ninitech "+initechKey)); err != nil {
		t.Fatal(err)
	}
	r.as(acmeKey, http.StatusForbidden, "POST", "/api/v1/series", body("shared.hits", "h", 5))
	r.as(globexKey, http.StatusForbidden, "POST", "/api/v1/series", body("shared.hits", "h", 5))
	r.as(newKey, http.StatusAccepted, "POST", "/api/v1/series", body("shared.hits", "h", 5))
	r.as(initechKey, http.StatusOK, "GET", "/api/overview", nil)
	r.eventually("counted", func() bool { return r.points(newKey, "acme") == 10 })
	for text, keys := range map[string]*customer.Keys{
		"restart":     nil,
		"of customer": keysOf(t, "acme "+operatorToken),
	} {
		if err := r.SetCustomers(keys); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
	if _, err := New("127.0.0.1:0", Options{Customers: keysOf(t, "acme "+acmeKey)}.withDefaults(), nil, nil,
		slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "intake.token") {
		t.Errorf("customers without an operator: %v", err)
	}
}

// TestOneCustomerCannotTakeAllRoom sends many names for one customer, and expects the other's to be
// found.
func TestOneCustomerCannotTakeAllRoom(t *testing.T) {
	o := twoCustomers(t)
	o.Names, o.CustomerNames = 100, 20
	r := start(t, t.TempDir(), o)
	for i := range 60 {
		r.as(acmeKey, http.StatusAccepted, "POST", "/api/v1/series", body(fmt.Sprintf("app.n%d", i), "", 1))
	}
	acme := r.processor.shelves.get("acme").names[index.Metric]
	r.eventually("refused", func() bool { _, refused := acme.Len(); return refused == 40 })
	r.as(globexKey, http.StatusAccepted, "POST", "/api/v1/series", body("app.x", "", 1))
	globex := r.processor.shelves.get("globex").names[index.Metric]
	r.eventually("found", func() bool { return slices.Equal(globex.Prefix("", 9), []string{"app.x"}) })
}

// safeText is a log that several goroutines write.
type safeText struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *safeText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (s *safeText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}
