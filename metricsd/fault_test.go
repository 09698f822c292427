package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/freeport"
)

// TestMain runs metricsd itself if a test asks for it, so that the test can kill the process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_METRICSD") != "" {
		os.Unsetenv("TEST_AS_METRICSD")
		main()
	}
	var err error
	if intakeAddress, err = freeport.Address("tcp"); err != nil {
		panic(err)
	}
	flag.Set("test.parallel", "5") // those that are parallel wait for buckets to end
	os.Exit(m.Run())
}

// intakeAddress is where the intakes of this process's tests listen, one after another. It is
// claimed, so that no other test gets it while no intake listens.
var intakeAddress string

// program starts metricsd in a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "TEST_AS_METRICSD=1")
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("metricsd %s said:\n%s", args[0], cmd.Stderr)
		}
	})
	return cmd
}

// patience is for machines that do other things: what works needs a fraction of it. looks are as
// many, 20 ms apart.
const (
	patience = 5 * time.Minute
	looks    = int(patience / (20 * time.Millisecond))
)

func healthy(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get("http://" + intakeAddress + "/healthz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Fatal("the intake does not become healthy")
}

// killed kills an intake some time after it acknowledged the given number of further requests, and
// starts another.
func killed(
	t *testing.T, cmd *exec.Cmd, args []string, acknowledged *atomic.Int64, more int64, later time.Duration,
) *exec.Cmd {
	t.Helper()
	before := acknowledged.Load()
	eventually(t, "more is acknowledged", func() bool { return acknowledged.Load() >= before+more })
	time.Sleep(later)
	cmd.Process.Kill()
	cmd.Wait()
	cmd = program(t, args...)
	healthy(t)
	return cmd
}

// TestKilledIntakeCountsOnce kills the intake, with its queue and index, repeatedly while senders
// post, and repeat unacknowledged requests under the same key, as an agent does. In the end every
// point must be counted, and none twice.
func TestKilledIntakeCountsOnce(t *testing.T) {
	kills := 3
	if testing.Short() {
		kills = 1
	}
	dir := t.TempDir()
	args := []string{"intake", "-intake.http=" + intakeAddress, "-intake.flush=1", "-intake.pending=100",
		"-intake.queue.dir=" + filepath.Join(dir, "queue"), "-intake.index.dir=" + filepath.Join(dir, "index")}
	cmd := program(t, args...)
	healthy(t)

	ctx, stop := context.WithCancel(t.Context())
	var acknowledged, sent atomic.Int64
	var senders sync.WaitGroup
	for s := range 3 {
		senders.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				sent.Add(1)
				now := time.Now().Unix()
				for !postOne(fmt.Sprintf("killed.s%d.n%d", s, i%50), fmt.Sprintf("sender %d, request %d", s, i), now) {
					sent.Add(1)
					time.Sleep(10 * time.Millisecond)
				}
				acknowledged.Add(1)
			}
		})
	}
	for i := range kills {
		cmd = killed(t, cmd, args, &acknowledged, 100, time.Duration(100*i)*time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	stop()
	senders.Wait()
	counted := int64(-1)
	for deadline := time.Now().Add(patience); counted < acknowledged.Load() &&
		time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		counted = points(t, "app", "killed")
	}
	time.Sleep(2500 * time.Millisecond) // two writings, which would show double counts
	if counted = points(t, "app", "killed"); counted != acknowledged.Load() {
		t.Errorf("%d points acknowledged, %d sent, %d counted", acknowledged.Load(), sent.Load(), counted)
	}
	if acknowledged.Load() < 100 {
		t.Errorf("only %d points acknowledged: the test shows little", acknowledged.Load())
	}
	t.Logf("%d kills; %d acknowledged, %d counted, %d sent", kills, acknowledged.Load(), counted, sent.Load())
}

// postOne sends one point under a key and reports whether it was acknowledged. A customer has an
// API key besides.
func postOne(metric, key string, at int64, apiKey ...string) bool {
	body := fmt.Sprintf(`{"series":[{"metric":%q,"points":[[%d,1]]}]}`, metric, at)
	request, err := http.NewRequest("POST", "http://"+intakeAddress+"/api/v1/series", strings.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("Idempotency-Key", key)
	for _, k := range apiKey {
		request.Header.Set("DD-API-KEY", k)
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode == http.StatusAccepted
}

// TestIntakeReloads edits the file of a running intake and sends SIGHUP.
func TestIntakeReloads(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "metricsd.yaml")
	write := func(body int) {
		text := fmt.Sprintf("intake:\n  http: %s\n  body: %d\n  queue: {dir: %s/queue}\n  index: {dir: %s/index}\n",
			intakeAddress, body, dir, dir)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(1 << 20)
	cmd := program(t, "intake", "-config="+file)
	healthy(t)
	long := func() int {
		resp, err := http.Post("http://"+intakeAddress+"/intake/", "text/plain",
			strings.NewReader(strings.Repeat("x", 2000)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := long(); got != http.StatusAccepted {
		t.Fatalf("2,000 bytes of 1 MB: %d", got)
	}
	write(1 << 10)
	cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "the new bound holds", func() bool { return long() == http.StatusRequestEntityTooLarge })
}

// points returns how many points the index has under a name.
func points(t *testing.T, kind, name string) int64 {
	t.Helper()
	resp, err := http.Get("http://" + intakeAddress + "/api/entries?kind=" + kind + "&name=" + name)
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	var entries []struct{ Points int64 }
	if err := json.NewDecoder(resp.Body).Decode(&entries); err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		return 0
	}
	return entries[0].Points
}

// TestAll sends to an agent and finds the names in the intake's page.
func TestAll(t *testing.T) {
	dir, udp, web := t.TempDir(), freePort(t, "udp"), freePort(t, "tcp")
	cmd := program(t, "all", "-listen.udp="+udp, "-http="+web, "-intake.http="+intakeAddress, "-intake.flush=1",
		"-intake.queue.dir="+filepath.Join(dir, "queue"), "-intake.index.dir="+filepath.Join(dir, "index"),
		"-intake.token=t")
	healthy(t)
	if code, _, err := metricsd("", "load", "-address="+udp, "-for=1s", "-rate=100000"); code != 0 {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/metrics": 401, "/metrics?api_key=t": 200, "/debug/pprof/cmdline": 401,
		"/debug/pprof/cmdline?api_key=x": 403, "/malformed": 401, "/healthz": 200} {
		if resp, err := http.Get("http://" + web + path); err != nil || resp.StatusCode != want {
			t.Errorf("the agent's %s: %v, %v; want %d, as the intake answers", path, resp, err, want)
		} else {
			resp.Body.Close()
		}
	}
	conn, err := net.Dial("udp", udp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	eventually(t, "the agent has the last lines", func() bool { // the load may have left it no room for them
		conn.Write([]byte("took.distribution:5|d\ntook.timing:5|ms"))
		shown := textOf("http://" + web + "/metrics?api_key=t")
		return strings.Contains(shown, "\ntook_distribution_count") && strings.Contains(shown, "\ntook_timing_count")
	})
	cmd.Process.Signal(os.Interrupt) // the agent's last flush must reach the intake
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	again := program(t, "intake", "-intake.http="+intakeAddress, "-intake.queue.dir="+filepath.Join(dir, "queue"),
		"-intake.index.dir="+filepath.Join(dir, "index"))
	healthy(t)
	// After it is ready the second process counts the first one's messages in the queue.
	known := func(query, want string) (text string, ok bool) {
		for end := time.Now().Add(patience); !ok && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			text = names(t, query)
			ok = strings.Contains(text, want)
		}
		return text, ok
	}
	if text, ok := known("kind=app", `"service"`); !ok {
		t.Errorf("the intake knows of no app: %s\n%s", text, again.Stderr)
	}
	// A distribution goes as a sketch, under its own name; a timing as counts and gauges.
	if text, ok := known("prefix=took.", `["took.distribution","took.timing.95percentile"`); !ok {
		t.Errorf("names: %s", text)
	}
}

func names(t *testing.T, query string) string {
	t.Helper()
	resp, err := http.Get("http://" + intakeAddress + "/api/names?" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return strings.Join(strings.Fields(string(text)), "")
}

// get returns a page of the intake, or nothing.
func get(path string) string { return textOf("http://" + intakeAddress + path) }

// textOf returns a page, or nothing.
func textOf(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("within %v, not: %s\n%s", patience, what, get("/metrics"))
		}
	}
}
