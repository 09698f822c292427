package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// TestAFullDiskLosesNothing fills the disk of the intake's queue and index, to the last byte, while
// senders post. The intake asks them to retry, with the reason, and goes on. When there is room
// every acknowledged point is counted, once. Then the test kills the intake while the disk is full.
// Without a reserve the queue's writes meet the disk's end, and it has to reopen itself.
func TestAFullDiskLosesNothing(t *testing.T) {
	for name, reserve := range map[string]string{"with a reserve": "33554432", "without": "0"} {
		t.Run(name, func(t *testing.T) { fullDisk(t, reserve) })
	}
}

func fullDisk(t *testing.T, reserve string) {
	dir := disktest.Mount(t, "160m")
	args := []string{"intake", "-intake.http=" + intakeAddress, "-intake.flush=1", "-intake.pending=100",
		"-intake.reserve=" + reserve,
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
				for !postOne(fmt.Sprintf("full.s%d.n%d", s, i%500), fmt.Sprintf("sender %d, request %d", s, i), now) {
					sent.Add(1)
					time.Sleep(10 * time.Millisecond)
				}
				acknowledged.Add(1)
			}
		})
	}
	more := func(what string) {
		t.Helper()
		before := acknowledged.Load()
		for deadline := time.Now().Add(patience); acknowledged.Load() < before+
			100; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d points acknowledged, no more\n%s", what, before, cmd.Stderr)
			}
		}
	}
	more("at the start")
	for round := range 2 {
		room := disktest.Fill(t, dir)
		refusal(t)
		time.Sleep(2500 * time.Millisecond) // the processor wants to write meanwhile
		if !alive() {
			t.Fatalf("round %d: the intake is gone\n%s", round, cmd.Stderr)
		}
		eventually(t, "the operator is told what to do", func() bool {
			return strings.Contains(cmd.Stderr.(*bytes.Buffer).String(), "make room")
		})
		if round == 1 {
			cmd.Process.Kill()
			cmd.Wait()
			room()
			cmd = program(t, args...)
			healthy(t)
		} else {
			room()
		}
		more("with room again")
		if page := get("/metrics"); reserve == "0" && round == 0 && !reopened.MatchString(page) {
			t.Errorf("the queue was not opened again: the test shows nothing\n%s", page)
		}
	}
	stop()
	senders.Wait()
	counted := int64(-1)
	for deadline := time.Now().Add(patience); counted < acknowledged.Load() &&
		time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		counted = points(t, "app", "full")
	}
	time.Sleep(2500 * time.Millisecond) // two writings, which would show double counts
	if counted = points(t, "app", "full"); counted != acknowledged.Load() {
		t.Errorf("%d points acknowledged, %d sent, %d counted\n%s", acknowledged.Load(), sent.Load(),
			counted, cmd.Stderr)
	}
	t.Logf("%d acknowledged, %d counted, %d sent", acknowledged.Load(), counted, sent.Load())
}

var reopened = regexp.MustCompile(`\nmetricsd_intake_queue_reopened_total [1-9]`)

// alive reports whether the intake answers.
func alive() bool {
	resp, err := http.Get("http://" + intakeAddress + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// refusal waits for the answer that senders get on a full disk.
func refusal(t *testing.T) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Post("http://"+intakeAddress+"/api/v1/series", "application/json",
			strings.NewReader(`{"series":[{"metric":"x","points":[[1,1]]}]}`))
		if err != nil {
			last = err.Error()
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		last = fmt.Sprint(resp.StatusCode, " ", string(text))
		if resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(last, "make room") &&
			resp.Header.Get("Retry-After") != "" {
			return
		}
	}
	t.Fatalf("senders are not told that the disk is full: %s", last)
}
