package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/secure"
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
	var b seriesBody
	if !in.open || json.NewDecoder(r.Body).Decode(&b) != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, p := range b.kept() {
		in.sum += p[1]
		in.points[p[0]]++
	}
}

// A seriesBody is a request of the series API.
type seriesBody struct {
	Series []struct {
		Metric string
		Points [][2]float64
	}
}

// kept returns the points, with their times, of the metric that must not be lost.
func (b seriesBody) kept() (points [][2]float64) {
	for _, s := range b.Series {
		if s.Metric == "kept" {
			points = append(points, s.Points...)
		}
	}
	return points
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
	socket, queue := filepath.Join(dir, "s"), filepath.Join(dir, "queue")
	start := func() (kill func(), conn net.Conn) {
		cmd := program(t, "agent", "-listen.udp=", shape, "-listen.unixgram="+socket, "-http="+web,
			"-datadog.url="+server.URL, "-datadog.queue="+queue, "-datadog.api=v1",
			"-datadog.compression=none")
		await(t, web, "metricsd_contexts 0")
		conn, err := net.Dial("unixgram", socket)
		if err != nil {
			t.Fatal(err)
		}
		return func() { cmd.Process.Kill(); cmd.Wait(); conn.Close() }, conn
	}
	const rounds, each = 2, 1000
	for round := range rounds {
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
		onDisk(t, queue, float64(each*(round+1)))
		time.Sleep(rand.N(300 * time.Millisecond))
		kill()
		<-noise
	}
	in.mu.Lock()
	in.open = true
	in.mu.Unlock()
	start()
	for deadline := time.Now().Add(patience); in.total() < rounds*each && time.Now().Before(deadline); {
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

// onDisk waits until the payloads in the queue hold that many counts of the metric that must not be
// lost: its bucket is closed then, whenever it began.
func onDisk(t *testing.T, queue string, want float64) {
	t.Helper()
	sum := 0.0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(queue, "*.payload"))
		if err != nil {
			t.Fatal(err)
		}
		sum = 0
		for _, file := range files { // a file is whole once it has its name
			for _, p := range queuedBody(t, file).kept() {
				sum += p[1]
			}
		}
		if sum == want {
			return
		}
	}
	t.Fatalf("%v counts in the queue, not %v", sum, want)
}

// queuedBody reads a payload of the queue: a line on its form, and the request.
func queuedBody(t *testing.T, file string) (b seriesBody) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	payload, err := secure.ReadAll(f, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if _, body, _ := bytes.Cut(payload, []byte("\n")); bytes.HasPrefix(body, []byte("{")) {
		err = json.Unmarshal(body, &b)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return b
}
