package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
	before := portersOf(t)
	for range 3 {
		// A porter ignores signals that end a group of processes: the parent acts on them.
		syscall.Kill(before[0], syscall.SIGTERM)
		if r, err := s.Run(t.Context(), Command{Profile: Run, Path: "/bin/true"}); err != nil || !r.OK() {
			t.Fatal(r, err)
		}
	}
	if after := portersOf(t); len(before) != 1 || !slices.Equal(before, after) {
		t.Errorf("porters %v, then %v, want the same one", before, after)
	}
}

// TestPorterDies checks that the death of a porter is an error for what it let in, which dies too,
// whether the kernel sees to that or a supervisor; for what comes after there is another.
func TestPorterDies(t *testing.T) {
	long := ownTime()
	asleep := "/bin/sleep " + long // the command line of what is to end
	for name, c := range map[string]struct {
		options Options
		command Command
		many    int
	}{
		"namespaces": {Options{}, Command{Profile: Build, Path: "/bin/sleep", Args: []string{long}}, 1},
		"supervisor": {Options{Fallback: true}, Command{Profile: Build, Path: "/bin/sh", Args: []string{"-c", "setsid " + asleep + " & " + asleep}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(c.options)
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				_, err := s.Run(context.Background(), c.command)
				failed <- err
			}()
			within(t, "it does not start", func() bool { return len(sleepers(asleep)) == c.many })
			for _, pid := range portersOf(t) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if err := <-failed; err == nil || !strings.Contains(err.Error(), "porter") {
				t.Errorf("error %v", err)
			}
			within(t, "something lives on", func() bool { return len(sleepers(asleep)) == 0 })
			if r, err := s.Run(t.Context(), Command{Profile: Run, Path: "/bin/true"}); err != nil || !r.OK() {
				t.Error(r, err)
			}
		})
	}
}

// ownTime returns an argument of sleep that no other process has, not even of the same test beside
// this one.
func ownTime() string { return fmt.Sprintf("3600.%07d", os.Getpid()) }

// sleepers returns the processes with a command line.
func sleepers(line string) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if args, _ := os.ReadFile(f); strings.ReplaceAll(string(args), "\x00", " ") == line+" " {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			out = append(out, pid)
		}
	}
	return out
}

// TestPorterTruncated checks a porter that gets too few descriptors, because it may not open more:
// it lets no program in, says so by dropping the line, and goes on.
func TestPorterTruncated(t *testing.T) {
	porter, _, err := hire()
	if err != nil {
		t.Fatal(err)
	}
	before := portersOf(t)
	defer func() { // the next test counts porters
		porter.close()
		within(t, "the porter stays", func() bool { return len(portersOf(t)) < len(before) })
	}()
	for n := 1; n < entryFDs; n++ {
		ours, far, err := newLines()
		if err != nil {
			t.Fatal(err)
		}
		fds := []int{int(far)}
		for len(fds) < n {
			fds = append(fds, int(far))
		}
		if err := porter.say(entry{}, fds...); err != nil {
			t.Errorf("%d descriptors: the porter is gone: %v", n, err)
		}
		far.close()
		if _, err := ours.hear(new(admitted)); err != errHungUp {
			t.Errorf("%d descriptors: %v", n, err)
		}
		ours.close()
	}
}

// TestInheritedDescriptors checks that what this process has open for its children is not for
// programs between the walls.
func TestInheritedDescriptors(t *testing.T) {
	secret, err := os.CreateTemp(t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	fd, err := unix.FcntlInt(secret.Fd(), unix.F_DUPFD, 20) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, pid := range portersOf(t) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for len(portersOf(t)) > 0 {
		time.Sleep(time.Millisecond)
	}
	for _, o := range []Options{{}, {Fallback: true}} {
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(t.Context(), Command{Profile: Build, Path: "/bin/ls", Args: []string{"/proc/self/fd"}})
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() {
			t.Skipf("no /proc between the walls: %s", r.Stderr)
		}
		if slices.Contains(strings.Fields(string(r.Stdout)), strconv.Itoa(fd)) {
			t.Errorf("%+v: a program has descriptor %d, of %q", o, fd, r.Stdout)
		}
	}
}

// TestLeave checks that the processor time of what ran counts as this process's
// afterwards, and that another program can be started all the same.
func TestLeave(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	Leave() // what other tests spent
	before := spent()
	count := "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	r, err := s.Run(t.Context(), Command{Profile: Run, Path: "/bin/sh", Args: []string{"-c", count}})
	if err != nil || !r.OK() {
		t.Fatal(r, err)
	}
	Leave()
	if got := spent() - before; got < r.User || r.User == 0 {
		t.Errorf("%v of processor time counted after a program that took %v", got, r.User)
	}
	if r, err := s.Run(t.Context(), Command{Profile: Run, Path: "/bin/true"}); err != nil || !r.OK() {
		t.Errorf("after Leave: %v, %v", r, err)
	}
}

// TestWhenDone checks that a call that has begun is waited for, and none begins afterwards.
func TestWhenDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), false
	release := whenDone(ctx, func() {
		close(began)
		time.Sleep(20 * time.Millisecond)
		ended = true
	})
	cancel()
	<-began
	if release(); !ended {
		t.Error("released while the call goes on")
	}
	ctx, cancel = context.WithCancel(t.Context())
	whenDone(ctx, func() { t.Error("called after it was released") })()
	cancel()
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
				if r, err := s.Run(context.Background(), Command{Profile: Run, Path: "/bin/true"}); err != nil ||
					!r.OK() {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(processCPU())/float64(b.N)/1e6, "own-cpu-ms/op")
		})
	}
	ballast = nil
}

// processCPU returns the processor time that this process alone has used since it was asked last.
func processCPU() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	now := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	since := now - lastCPU
	lastCPU = now
	return since
}

var lastCPU time.Duration
