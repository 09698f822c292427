package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// portersOf lists the porters that this process has started.
func portersOf(t *testing.T) []int {
	t.Helper()
	var out []int
	for _, pid := range children() {
		args, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if strings.TrimRight(string(args), "\x00") == porterName {
			out = append(out, pid)
		}
	}
	return out
}

func TestOnePorter(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r, err := s.Run(t.Context(), Command{Profile: Run, Path: "/bin/true"}); err != nil || !r.OK() {
			t.Fatal(r, err)
		}
	}
	if p := portersOf(t); len(p) != 1 {
		t.Errorf("porters %v, want one", p)
	}
}

// The death of a porter is an error for what it let in, which dies too; for what
// comes after there is another.
func TestPorterDies(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := s.Run(context.Background(), Command{Profile: Build, Path: "/bin/sleep", Args: []string{"50"}})
		failed <- err
	}()
	for len(sleepers()) == 0 && time.Since(began) < 20*time.Second {
		time.Sleep(5 * time.Millisecond)
	}
	for _, pid := range portersOf(t) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "porter") {
		t.Errorf("error %v", err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(sleepers()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still there: %v", sleepers())
		}
	}
	if r, err := s.Run(t.Context(), Command{Profile: Run, Path: "/bin/true"}); err != nil || !r.OK() {
		t.Error(r, err)
	}
}

// sleepers are the processes that TestPorterDies has started.
func sleepers() []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if args, _ := os.ReadFile(f); string(args) == "/bin/sleep\x0050\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			out = append(out, pid)
		}
	}
	return out
}

var ballast []byte

// BenchmarkStartLarge is the cost of a start for a parent with a large heap
// that it writes to.
func BenchmarkStartLarge(b *testing.B) {
	s, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	const page = 4096
	for _, mb := range []int{0, 100, 300} {
		ballast = make([]byte, mb<<20)
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			processCPU()
			for b.Loop() {
				for i := 0; i < len(ballast); i += page {
					ballast[i]++
				}
				if r, err := s.Run(context.Background(), Command{Profile: Run, Path: "/bin/true"}); err != nil || !r.OK() {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(processCPU())/float64(b.N)/1e6, "own-cpu-ms/op")
		})
	}
	ballast = nil
}

// processCPU is the processor time that this process alone has used since it was
// asked last.
func processCPU() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	now := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	since := now - lastCPU
	lastCPU = now
	return since
}

var lastCPU time.Duration
