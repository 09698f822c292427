//go:build !embedded

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus/kafkatest"
)

// TestKilledKafka kills the broker of the intake's queue, repeatedly and once for long, while
// senders post, and repeat requests that were not acknowledged. Acknowledged points are counted
// once, under each metric and in sum. The intake names the stage that does not keep up, and its
// memory stays within a bound.
func TestKilledKafka(t *testing.T) {
	broker := kafkatest.Start(t)
	kills := 10
	if testing.Short() {
		kills = 2
	}
	const requests = 16
	cmd := program(t, "intake", "-intake.http="+intakeAddress, "-intake.flush=1", "-intake.pending=100",
		fmt.Sprint("-intake.requests=", requests),
		"-intake.queue.kafka="+broker.Address, "-intake.queue.partitions=3",
		"-intake.index.dir="+filepath.Join(t.TempDir(), "index"))
	healthy(t)
	posting := startPosting(t, "posted", requests+8)
	posting.more(t, "at the start")
	for i := range kills {
		time.Sleep(rand.N(time.Second))
		broker.Kill()
		if i == 0 {
			brokerIsAway(t)
		}
		time.Sleep(rand.N(time.Second))
		broker.Run()
		posting.more(t, fmt.Sprintf("after kill %d", i+1))
	}
	posting.stop()
	posting.check(t)
	if used := peakMemory(t, cmd.Process.Pid); used > 512<<20 {
		t.Errorf("the intake took %d MB", used>>20)
	}
	t.Logf("%d kills; %d acknowledged, %d sent; peak memory of the intake %d MB", kills, posting.acknowledged.Load(),
		posting.sent.Load(), peakMemory(t, cmd.Process.Pid)>>20)
	if err := stopInTime(cmd.Process, cmd.Wait); err != nil {
		t.Errorf("%v\n%s", err, cmd.Stderr)
	}
}

// TestKafkaIsAwayAtTheEnd stops the intake while its broker is down. It must end, and the next
// intake must count what it had acknowledged.
func TestKafkaIsAwayAtTheEnd(t *testing.T) {
	broker := kafkatest.Start(t)
	args := []string{"intake", "-intake.http=" + intakeAddress, "-intake.flush=3600",
		"-intake.queue.kafka=" + broker.Address, "-intake.index.dir=" + filepath.Join(t.TempDir(), "index")}
	cmd := program(t, args...)
	healthy(t)
	posting := startPosting(t, "posted", 8)
	posting.more(t, "at the start")
	broker.Kill()
	if err := stopInTime(cmd.Process, cmd.Wait); err != nil {
		t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	broker.Run()
	args[2] = "-intake.flush=1"
	program(t, args...)
	healthy(t)
	posting.more(t, "with the broker again")
	posting.stop()
	posting.check(t)
}

// TestRestoredKafka restores the broker's disk from a copy, under the running intake and while it
// is down. Messages that the copy lacks were counted and stay counted, once. Messages sent to the
// restored broker take the places of others, and count too.
func TestRestoredKafka(t *testing.T) {
	broker := kafkatest.Start(t)
	args := []string{"intake", "-intake.http=" + intakeAddress, "-intake.flush=1", "-intake.queue.partitions=3",
		"-intake.queue.kafka=" + broker.Address, "-intake.index.dir=" + filepath.Join(t.TempDir(), "index")}
	cmd := program(t, args...)
	healthy(t)
	var all []*posting
	post := func(app string) {
		t.Helper()
		p := startPosting(t, app, 8)
		p.more(t, app)
		p.stop()
		all = append(all, p)
		for _, p := range all { // what was counted before is not counted again
			p.check(t)
		}
	}
	post("copied")
	broker.Copy()
	post("lost")
	broker.Restore("")
	post("restored")
	if !regexp.MustCompile(`metricsd_intake_queue_moved_total\{what="end_lost"\} [1-9]`).MatchString(get("/metrics")) {
		t.Errorf("/metrics does not say that the log's end was lost\n%s", cmd.Stderr)
	}
	if err := stopInTime(cmd.Process, cmd.Wait); err != nil {
		t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	broker.Restore("")
	program(t, args...)
	healthy(t)
	post("again")
}

// stopInTime asks a process to end and waits for it.
func stopInTime(p *os.Process, wait func() error) error {
	p.Signal(os.Interrupt)
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return fmt.Errorf("asked to stop, the intake goes on for %v", patience)
	}
}

// brokerIsAway waits until the intake reports it to senders, to people and to Prometheus, none of
// whom wait for the broker.
func brokerIsAway(t *testing.T) {
	t.Helper()
	eventually(t, "the page shows what the senders wait for", func() bool {
		var o struct {
			Stages []struct {
				Stage          string
				Waiting, Bound int64
				Away           bool
			}
		}
		if json.Unmarshal([]byte(get("/api/overview")), &o) != nil {
			return false
		}
		full, away, idle := false, false, true
		for _, s := range o.Stages {
			full = full || s.Stage == "queue, being written" && s.Waiting == s.Bound
			away = away || s.Stage == "queue, not counted yet" && s.Away
			idle = idle && (s.Stage != "decoder" && s.Stage != "processor" || s.Waiting == 0)
		}
		return full && away && idle
	})
	eventually(t, "/metrics says so", func() bool {
		return strings.Contains(get("/metrics"), "\nmetricsd_intake_queue_up 0\n")
	})
	eventually(t, "senders are told", func() bool {
		return refused("queue_failed").MatchString(get("/metrics")) && refused("busy").MatchString(get("/metrics"))
	})
}

// refused matches a counter of refusals that is not zero.
func refused(answer string) *regexp.Regexp {
	return regexp.MustCompile(`\nmetricsd_intake_requests_total\{answer="` + answer + `"\} [1-9]`)
}

// A posting is senders that post, each one metric of its own, and repeat unacknowledged requests
// under the same key.
type posting struct {
	app                string // that the metrics belong to
	stop               func()
	acknowledged, sent atomic.Int64
	each               []int64 // acknowledged, by sender; read when they have stopped
}

func startPosting(t *testing.T, app string, senders int) *posting {
	ctx, cancel := context.WithCancel(t.Context())
	p := &posting{app: app, each: make([]int64, senders)}
	var running sync.WaitGroup
	for s := range senders {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				now := time.Now().Unix()
				for p.sent.Add(1); !postOne(p.by(s), fmt.Sprintf("%s, sender %d, request %d", app, s, i),
					now); p.sent.Add(1) {
					time.Sleep(20 * time.Millisecond)
				}
				p.acknowledged.Add(1)
				p.each[s]++
			}
		})
	}
	p.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(p.stop)
	return p
}

func (p *posting) by(sender int) string { return fmt.Sprintf("%s.by%d", p.app, sender) }

// more waits until more is acknowledged.
func (p *posting) more(t *testing.T, when string) {
	t.Helper()
	before := p.acknowledged.Load()
	eventually(t, "more acknowledged "+when, func() bool { return p.acknowledged.Load() >= before+20 })
}

// check waits until all acknowledged points are counted, and checks that they are not counted
// twice.
func (p *posting) check(t *testing.T) {
	t.Helper()
	eventually(t, "all is counted", func() bool { return points(t, "app", p.app) >= p.acknowledged.Load() })
	writtenAgain(t, p.app)
	if got := points(t, "app", p.app); got != p.acknowledged.Load() {
		t.Errorf("%s: %d points acknowledged, %d sent, %d counted", p.app, p.acknowledged.Load(), p.sent.Load(), got)
	}
	for s, want := range p.each {
		if got := points(t, "metric", p.by(s)); got != want {
			t.Errorf("%s: %d points acknowledged, %d counted", p.by(s), want, got)
		}
	}
}

// writtenAgain posts something else and waits until it is counted, twice: by then everything before
// it in the queue is counted, and double counts show.
func writtenAgain(t *testing.T, after string) {
	t.Helper()
	for i := range 2 {
		name := fmt.Sprintf("settled.%s%d", after, i)
		before := points(t, "metric", name)
		for n := range 12 { // some into every partition
			key := fmt.Sprintf("%s, %d of %d", name, n, before)
			eventually(t, "a post is taken", func() bool { return postOne(name, key, time.Now().Unix()) })
		}
		eventually(t, "it is counted", func() bool { return points(t, "metric", name) == before+12 })
	}
}

// peakMemory returns the most that a process has had in memory, in bytes.
func peakMemory(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, peak, ok := strings.Cut(string(status), "VmHWM:"); ok {
		fmt.Sscan(peak, &bytes)
	}
	return bytes << 10
}
