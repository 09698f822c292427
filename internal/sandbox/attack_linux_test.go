package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/internal/sandbox/attack"
)

// TestMain is the door, and the hostile program: this test binary itself,
// started between the walls with the name of an attack.
func TestMain(m *testing.M) {
	Main()
	attack.Main()
	if len(os.Args) > 2 && os.Args[1] == "attack" {
		programs[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// programs are those of the tests alone.
var programs = map[string]func(args []string){"box": attackNothing, "parent": attackedParent}

func report(what string, err error) { fmt.Printf("%s: %v\n", what, err) }

// attackNothing says what an honest program sees.
func attackNothing([]string) {
	dir, _ := os.Getwd()
	text, err := os.ReadFile("input")
	report("input", err)
	report("output", os.WriteFile("output", append(text, '!'), 0o644))
	report("input again", os.WriteFile("input", nil, 0o644))
	report("scratch", os.WriteFile("scratch", text, 0o644))
	var set unix.CPUSet
	unix.SchedGetaffinity(0, &set)
	json.NewEncoder(os.Stdout).
		Encode(map[string]any{
			"dir":  dir,
			"home": os.Getenv("HOME"),
			"cpus": set.Count(),
			"user": os.Getenv("BEAGLE_X"),
		})
}

// patience is for machines that do other things: the limit that an attack meets is another.
const patience = 5 * time.Minute

// systems returns the sandboxes to test: the best this kernel offers, and what is left where
// namespaces are refused.
func systems(t *testing.T) map[string]*Sandbox {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.MissingWalls() {
		t.Log("missing here: ", m)
	}
	bare, err := New(Options{Fallback: true})
	if err != nil {
		t.Fatal(err)
	}
	if !s.kernel.Namespaces {
		return map[string]*Sandbox{"bare": bare}
	}
	return map[string]*Sandbox{"full": s, "bare": bare}
}

func self(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// attacked runs an attack and returns the result with the output by line.
func attacked(t *testing.T, s *Sandbox, c Command, args ...string) (Result, map[string]string) {
	t.Helper()
	c.Path, c.Args = self(t), append([]string{"attack"}, args...)
	r, err := s.Run(context.Background(), c)
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, r.Stderr)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(r.Stdout)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		lines[k] = v
	}
	return r, lines
}

func each(t *testing.T, f func(t *testing.T, s *Sandbox, p Profile)) {
	for name, s := range systems(t) {
		for _, p := range []Profile{Run, Fuzz, Build, Test} {
			t.Run(name+"/"+p.String(), func(t *testing.T) { f(t, s, p) })
		}
	}
}

// stopped asserts that what an attack tried failed.
func stopped(t *testing.T, lines map[string]string, names ...string) {
	t.Helper()
	for _, n := range names {
		if got, ok := lines[n]; !ok || got == "<nil>" {
			t.Errorf("%s was not stopped: %q (ran: %v)", n, got, ok)
		}
	}
}

func number(t *testing.T, lines map[string]string, name string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Fields(lines[name] + " -")[0])
	if err != nil {
		t.Fatalf("no number %q in %q", name, lines)
	}
	return n
}

func TestNetwork(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	abstract, err := net.Listen("unix", fmt.Sprintf("@beagle-abstract-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attacked(t, s, Command{
			Profile: p,
		}, "network", tcp.Addr().String(), udp.LocalAddr().String(), abstract.Addr().String())
		stopped(t, lines, "tcp", "abstract")
		if p == Test && s.kernel.Namespaces {
			if lines["loopback"] != "<nil>" {
				t.Errorf("tests cannot use their loopback: %s", lines["loopback"])
			}
			return
		}
		stopped(t, lines, "udp", "loopback")
	})
	udp.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if n, _, err := udp.ReadFrom(make([]byte, 99)); err == nil {
		t.Errorf("%d bytes came out by UDP", n)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		paths := []string{secret, filepath.Join(home, ".netrc"), "/etc/shadow", "/proc/1/environ"}
		_, lines := attacked(t, s, Command{Profile: p}, append([]string{"read"}, paths...)...)
		if p != Run {
			paths = paths[:3] // /proc/1 is the program itself
		}
		stopped(t, lines, paths...)
		outside := []string{filepath.Join(dir, "new"), secret, filepath.Join(home, "beagle-owned"), "/usr/beagle-owned",
			"/etc/passwd"}
		_, lines = attacked(t, s, Command{Profile: p, Read: []string{dir}}, append([]string{"write"}, outside...)...)
		stopped(t, lines, append(outside, "own binary")...)
	})
	if text, _ := os.ReadFile(secret); string(text) != "s3cret" {
		t.Error("the file outside changed")
	}
}

func TestSecretsInEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	t.Setenv("GITHUB_TOKEN", "hunter2")
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, _ := attacked(t, s, Command{Profile: p}, "secret")
		if strings.Contains(string(r.Stdout), "hunter2") || !r.OK() {
			t.Errorf("environment: %s", r.Stdout)
		}
	})
}

func TestForkBomb(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, lines := attacked(t, s, Command{Profile: p, Limits: Limits{Procs: 64, Wall: patience}}, "forks")
		if r.Ended != Tasks {
			switch n := number(t, lines, "started"); {
			case p == Run && n > 0:
				t.Errorf("started %d processes", n)
			case n >= 64:
				t.Errorf("started %d processes, the limit is 64", n)
			}
		}
		leftBehind(t)
	})
}

func TestThreads(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, lines := attacked(t, s, Command{Profile: p, Limits: Limits{Procs: 64, Wall: patience}}, "threads")
		if r.OK() {
			t.Errorf("had %s threads, the limit is 64", lines["threads"])
		}
	})
}

func TestSharedMemory(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		if p != Run && p != Fuzz {
			t.Skip("programs of this profile may share memory; a control group counts it")
		}
		_, lines := attacked(t, s, Command{Profile: p}, "shared")
		stopped(t, lines, "mapping", "memfd")
		if n := number(t, lines, "shared"); n > 0 {
			t.Errorf("%d MB of shared memory", n)
		}
	})
}

func TestEscapeFromTheGroup(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attacked(t, s, Command{Profile: p}, "escape")
		if p == Run {
			stopped(t, lines, "setsid")
		}
		leftBehind(t)
	})
}

// leftBehind asserts that no process of an attack lives on.
func leftBehind(t *testing.T) {
	t.Helper()
	for _, p := range left(t) {
		t.Errorf("it lives on: %s", p)
	}
}

// left lists the attacks that still run.
func left(t *testing.T) (alive []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		text, _ := os.ReadFile(p)
		if bytes.Contains(text, []byte("attack\x00")) && bytes.HasPrefix(text, []byte(self(t))) {
			alive = append(alive, fmt.Sprintf("%s %q", p, text))
		}
	}
	return alive
}

func TestMemory(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, lines := attacked(t, s, Command{Profile: p, Limits: Limits{Data: 512 * mb, Wall: patience}}, "memory")
		if r.Ended != Memory || lines["allocated"] != "" {
			t.Errorf("1.5 GB of 512 MB: ended with %s: %s%.300s", r.Ended, r.Stdout, r.Stderr)
		}
	})
}

func TestEndless(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, _ := attacked(t, s, Command{Profile: p, Limits: Limits{Wall: 150 * time.Millisecond}}, "loop")
		if r.Ended != Wall {
			t.Errorf("loop: ended with %s after %v", r.Ended, r.Wall)
		}
		leftBehind(t)
	})
	s := systems(t)
	for name := range s {
		r, _ := attacked(t, s[name], Command{Profile: Run, Limits: Limits{CPU: time.Second, Wall: 5 * time.Minute}},
			"loop")
		if r.Ended != CPU {
			t.Errorf("%s: one second of processor: ended with %s after %v (%v)", name, r.Ended, r.Wall, r.User)
		}
	}
}

func TestDisk(t *testing.T) {
	limits := Limits{File: 8 * mb, Wall: patience} // a loaded disk takes its time
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attacked(t, s, Command{Profile: p, Limits: limits}, "bigfile")
		if n := number(t, lines, "wrote"); n > 8 {
			t.Errorf("wrote a file of %d MB, the limit is 8", n)
		}
		for _, how := range []string{"files", "hidden"} {
			r, lines := attacked(t, s, Command{Profile: p, Limits: limits}, how)
			if r.Ended == Disk {
				continue
			}
			if n := number(t, lines, "wrote"); n > 8 {
				t.Errorf("%s: wrote %d MB, the limit is 8", how, n)
			}
		}
	})
}

// TestDiskOfTheHost: a directory of the host has no size of its own.
func TestDiskOfTheHost(t *testing.T) {
	for name, s := range systems(t) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		r, _ := attacked(t, s,
			Command{Profile: Fuzz, Write: []string{dir}, Env: []string{"TMPDIR=" + dir},
				Limits: Limits{File: 8 * mb, Wall: patience}}, "files")
		if r.Ended != Disk {
			t.Errorf("%s: many files in a directory of the host: ended with %s", name, r.Ended)
		}
	}
}

func TestOtherProcesses(t *testing.T) {
	victim := exec.Command("/bin/sleep", "1000")
	victim.Env = []string{"SECRET=hunter2"}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	dead := make(chan error, 1)
	go func() { dead <- victim.Wait() }()
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attacked(t, s, Command{Profile: p}, "others", strconv.Itoa(victim.Process.Pid))
		stopped(t, lines, "kill", "tgkill", "ptrace", "environ")
	})
	select {
	case err := <-dead:
		t.Error("the other process died:", err)
	default:
		victim.Process.Kill()
		<-dead
	}
}

func TestSystemCalls(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attacked(t, s, Command{Profile: p}, "syscalls")
		for _, n := range []string{"bpf", "perf", "unshare", "io_uring", "mount", "keyctl", "userfaultfd",
			"setns", "clone"} {
			if got := lines[n]; got != "function not implemented" && got != "operation not permitted" {
				t.Errorf("%s: %q", n, got)
			}
		}
	})
}

func TestOutputLimit(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, _ := attacked(t, s, Command{Profile: p, Limits: Limits{Output: 1 * mb}}, "output")
		if r.Ended != Output || len(r.Stdout) != mb {
			t.Errorf("ended with %s after %d bytes", r.Ended, len(r.Stdout))
		}
	})
}

func TestHonestProgram(t *testing.T) {
	dir := t.TempDir()
	input, output := filepath.Join(dir, "in.bin"), filepath.Join(dir, "out.bin")
	for _, p := range []string{input, output} {
		if err := os.WriteFile(p, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, lines := attacked(t, s, Command{
			Profile: p, CPUs: []int{0}, Env: []string{"BEAGLE_X=7"},
			Files: []File{{Name: "input", Host: input}, {Name: "output", Host: output, Write: true}},
		}, "box")
		if !r.OK() || lines["input"] != "<nil>" || lines["output"] != "<nil>" || lines["scratch"] != "<nil>" {
			t.Errorf("%+v: %s%s", r.Ended, r.Stdout, r.Stderr)
		}
		stopped(t, lines, "input again")
		if !strings.Contains(string(r.Stdout), `"cpus":1`) || !strings.Contains(string(r.Stdout), `"user":"7"`) {
			t.Errorf("processors or environment: %s", r.Stdout)
		}
		if text, _ := os.ReadFile(output); string(text) != "data!" {
			t.Errorf("the output file holds %q", text)
		}
	})
}
