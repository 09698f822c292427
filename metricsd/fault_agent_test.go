package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// inbox is a receiver of the series API that is down until it is opened. It adds up the points of
// one metric, and knows which came twice.
type inbox struct {
	mu     sync.Mutex
	open   bool
	sum    float64
	points map[float64]int // by time
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	var body struct {
		Series []struct {
			Metric string
			Points [][2]float64
		}
	}
	if !in.open || json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, s := range body.Series {
		for _, p := range s.Points {
			if s.Metric == "kept" {
				in.sum += p[1]
				in.points[p[0]]++
			}
		}
	}
}

func (in *inbox) total() float64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.sum
}

// TestKilledAgentLosesNoBucket kills an agent with SIGKILL under load, while its receiver is down,
// each time after a bucket was closed. When the receiver is up again every closed bucket arrives,
// once.
func TestKilledAgentLosesNoBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("a bucket takes ten seconds")
	}
	t.Parallel()
	for name, flag := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKilledAgent(t, flag)
		})
	}
}

// shapes are the agent's two, by the flag that chooses them.
var shapes = map[string]string{"fast": "-listen.cache=100000", "plain": "-listen.cache=0"}

func testKilledAgent(t *testing.T, shape string) {
	in := &inbox{points: map[float64]int{}}
	server := httptest.NewServer(in)
	defer server.Close()
	dir, web := t.TempDir(), freePort(t, "tcp")
	socket := filepath.Join(dir, "s")
	start := func() (kill func(), conn net.Conn) {
		cmd := program(t, "agent", "-listen.udp=", shape, "-listen.unixgram="+socket, "-http="+web,
			"-datadog.url="+server.URL, "-datadog.queue="+filepath.Join(dir, "queue"), "-datadog.api=v1",
			"-datadog.compression=none")
		await(t, web, "metricsd_contexts 0")
		conn, err := net.Dial("unixgram", socket)
		if err != nil {
			t.Fatal(err)
		}
		return func() { cmd.Process.Kill(); cmd.Wait(); conn.Close() }, conn
	}
	const rounds, each = 2, 1000
	for range rounds {
		kill, conn := start()
		for range each {
			fmt.Fprint(conn, "kept:1|c")
		}
		await(t, web, fmt.Sprint("kept_total ", each))
		noise := make(chan struct{})
		go func() { // until the agent is gone
			defer close(noise)
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(conn, "noise.n%d:1|c\nnoise.d:%d|d", i%5000, i); err != nil {
					return
				}
				if i%50 == 0 { // a load that leaves room on the machine
					time.Sleep(5 * time.Millisecond)
				}
			}
		}()
		onDisk(t, web, payloads(web)+1) // the bucket that is open now, and with it all that came before
		time.Sleep(rand.N(300 * time.Millisecond))
		kill()
		<-noise
	}
	in.mu.Lock()
	in.open = true
	in.mu.Unlock()
	start()
	for deadline := time.Now().Add(time.Minute); in.total() < rounds*each && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	await(t, web, "metricsd_datadog_queue_payloads 0")
	in.mu.Lock()
	defer in.mu.Unlock()
	twice := slices.ContainsFunc(slices.Collect(maps.Values(in.points)), func(n int) bool { return n != 1 })
	if in.sum != rounds*each || twice {
		t.Errorf("%v of %d counts arrived, by bucket %v", in.sum, rounds*each, in.points)
	}
}

var queued = regexp.MustCompile(`\nmetricsd_datadog_queue_payloads (\d+)\n`)

// payloads returns the number of payloads in the queue, or -1 where the page does not say it.
func payloads(web string) int {
	n := -1
	if m := queued.FindStringSubmatch(page(web)); m != nil {
		fmt.Sscan(m[1], &n)
	}
	return n
}

// onDisk waits until at least that number of payloads is in the queue and, since a bucket may be
// several, until no more come.
func onDisk(t *testing.T, web string, least int) {
	t.Helper()
	n, same := 0, 0
	// The page has a line for each of thousands of contexts.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		was := n
		if n = payloads(web); n == was {
			same++
		} else {
			same = 0
		}
		if n >= least && same >= 3 {
			return
		}
	}
	t.Fatalf("%d payloads in the queue, not %d", n, least)
}
