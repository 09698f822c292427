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
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is the door, and the hostile program: this test binary itself,
// started between the walls with the name of an attack.
func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 2 && os.Args[1] == "attack" {
		attacks[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attacks print what they achieved. Those that end the program are seen in
// the result.
var attacks = map[string]func(args []string){
	"network": attackNetwork,
	"read":    attackRead,
	"write":   attackWrite,
	"secret":  func([]string) { fmt.Println(os.Environ()) },
	"forks":   attackForks,
	"escape":  attackEscape,
	"memory":  attackMemory,
	"loop": func([]string) {
		for i := 0; ; i++ {
			_ = i
		}
	},
	"sleep":    func([]string) { time.Sleep(time.Hour) },
	"bigfile":  attackBigFile,
	"files":    attackManyFiles,
	"others":   attackOthers,
	"syscalls": attackSyscalls,
	"output": func([]string) {
		for {
			os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16))
		}
	},
	"box":   attackNothing,
	"crash": func([]string) { panic("boom") },
}

func report(what string, err error) { fmt.Printf("%s: %v\n", what, err) }

func attackNetwork(args []string) {
	_, err := net.DialTimeout("tcp", args[0], time.Second)
	report("tcp", err)
	c, err := net.Dial("udp", args[1])
	if err == nil {
		_, err = c.Write([]byte("stolen"))
	}
	report("udp", err)
	_, err = net.Dial("unix", "@beagle-abstract")
	report("abstract", err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		_, err = net.Dial("tcp", l.Addr().String())
	}
	report("loopback", err)
}

func attackRead(args []string) {
	for _, p := range args {
		_, err := os.ReadFile(p)
		report(p, err)
	}
}

func attackWrite(args []string) {
	for _, p := range args {
		report(p, os.WriteFile(p, []byte("owned"), 0o644))
	}
	exe, _ := os.Executable()
	report("own binary", os.WriteFile(pick(exe, os.Args[0]), nil, 0o644))
}

// attackForks starts copies of itself that stay.
func attackForks(args []string) {
	n := 0
	for range 300 {
		if exec.Command(os.Args[0], "attack", "sleep").Start() == nil {
			n++
		}
	}
	fmt.Println("started:", n)
}

// attackEscape leaves the process group and loses its parent.
func attackEscape([]string) {
	cmd := exec.Command(os.Args[0], "attack", "sleep", "beagle-escaped")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	report("setsid", cmd.Start())
}

func attackMemory([]string) {
	var keep [][]byte
	for range 96 {
		b := make([]byte, 16<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		keep = append(keep, b)
	}
	fmt.Println("allocated:", len(keep)*16, "MB")
}

func attackBigFile([]string) {
	f, err := os.Create(filepath.Join(os.TempDir(), "big"))
	report("create", err)
	var n int
	for range 1024 {
		m, err := f.Write(make([]byte, 1<<20))
		if n += m; err != nil {
			break
		}
	}
	fmt.Println("wrote:", n>>20)
}

func attackManyFiles([]string) {
	n := 0
	for i := range 64 {
		if os.WriteFile(filepath.Join(os.TempDir(), strconv.Itoa(i)), make([]byte, 8<<20), 0o644) == nil {
			n += 8
		}
	}
	fmt.Println("wrote:", n)
}

func attackOthers(args []string) {
	pid, _ := strconv.Atoi(args[0])
	report("kill", syscall.Kill(pid, syscall.SIGTERM))
	report("tgkill", unix.Tgkill(pid, pid, syscall.SIGTERM))
	report("ptrace", syscall.PtraceAttach(pid))
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	report("environ", err)
}

func attackSyscalls([]string) {
	for name, nr := range map[string]uintptr{
		"bpf": unix.SYS_BPF, "perf": unix.SYS_PERF_EVENT_OPEN, "unshare": unix.SYS_UNSHARE, "io_uring": unix.SYS_IO_URING_SETUP,
		"mount": unix.SYS_MOUNT, "keyctl": unix.SYS_KEYCTL, "userfaultfd": unix.SYS_USERFAULTFD, "setns": unix.SYS_SETNS,
	} {
		_, _, errno := syscall.Syscall6(nr, 0, 0, 0, 0, 0, 0)
		report(name, errno)
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	report("clone", errno)
	report("setuid", syscall.Setuid(0))
}

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
	json.NewEncoder(os.Stdout).Encode(map[string]any{"dir": dir, "home": os.Getenv("HOME"), "cpus": set.Count(), "user": os.Getenv("BEAGLE_X")})
}

// systems are the sandboxes to test: the best this kernel offers, and what is
// left where namespaces are refused.
func systems(t *testing.T) map[string]*Sandbox {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Missing() {
		t.Log("missing here: ", m)
	}
	bare := *s
	bare.kernel.Namespaces = false
	if !s.kernel.Namespaces {
		return map[string]*Sandbox{"bare": &bare}
	}
	return map[string]*Sandbox{"full": s, "bare": &bare}
}

func self(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// attack runs an attack and returns the result with the output by line.
func attack(t *testing.T, s *Sandbox, c Command, args ...string) (Result, map[string]string) {
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
	abstract, err := net.Listen("unix", "@beagle-abstract")
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attack(t, s, Command{Profile: p}, "network", tcp.Addr().String(), udp.LocalAddr().String())
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
		_, lines := attack(t, s, Command{Profile: p}, append([]string{"read"}, paths...)...)
		if p != Run {
			paths = paths[:3] // /proc/1 is the program itself
		}
		stopped(t, lines, paths...)
		outside := []string{filepath.Join(dir, "new"), secret, filepath.Join(home, "beagle-owned"), "/usr/beagle-owned", "/etc/passwd"}
		_, lines = attack(t, s, Command{Profile: p, Read: []string{dir}}, append([]string{"write"}, outside...)...)
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
		r, _ := attack(t, s, Command{Profile: p}, "secret")
		if strings.Contains(string(r.Stdout), "hunter2") || !r.OK() {
			t.Errorf("environment: %s", r.Stdout)
		}
	})
}

func TestForkBomb(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attack(t, s, Command{Profile: p, Limits: Limits{Procs: 64}}, "forks")
		n := number(t, lines, "started")
		bounded := s.kernel.Namespaces && p != Build || len(s.kernel.cgroup.dirs) > 0 || os.Getuid() != 0
		switch {
		case p == Run && n > 0:
			t.Errorf("started %d processes", n)
		case bounded && n >= 64:
			t.Errorf("started %d processes, the limit is 64", n)
		}
		leftBehind(t)
	})
}

func TestEscapeFromTheGroup(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attack(t, s, Command{Profile: p}, "escape")
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
		r, lines := attack(t, s, Command{Profile: p, Limits: Limits{Data: 512 * mb}}, "memory")
		if r.Ended != Memory || lines["allocated"] != "" {
			t.Errorf("1.5 GB of 512 MB: ended with %s: %s%.300s", r.Ended, r.Stdout, r.Stderr)
		}
	})
}

func TestEndless(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, _ := attack(t, s, Command{Profile: p, Limits: Limits{Wall: 150 * time.Millisecond}}, "loop")
		if r.Ended != Wall || r.Wall > 2*time.Second {
			t.Errorf("loop: ended with %s after %v", r.Ended, r.Wall)
		}
		leftBehind(t)
	})
	s := systems(t)
	for name := range s {
		r, _ := attack(t, s[name], Command{Profile: Run, Limits: Limits{CPU: time.Second}}, "loop")
		if r.Ended != CPU {
			t.Errorf("%s: one second of processor: ended with %s after %v (%v)", name, r.Ended, r.Wall, r.User)
		}
	}
}

func TestDisk(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		_, lines := attack(t, s, Command{Profile: p, Limits: Limits{File: 32 * mb}}, "bigfile")
		if n := number(t, lines, "wrote"); n > 32 {
			t.Errorf("wrote a file of %d MB, the limit is 32", n)
		}
		_, lines = attack(t, s, Command{Profile: p, Limits: Limits{File: 32 * mb}}, "files")
		if n := number(t, lines, "wrote"); n > 32 && s.kernel.Namespaces {
			t.Errorf("wrote %d MB in many files, the limit is 32", n)
		}
	})
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
		_, lines := attack(t, s, Command{Profile: p}, "others", strconv.Itoa(victim.Process.Pid))
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
		_, lines := attack(t, s, Command{Profile: p}, "syscalls")
		for _, n := range []string{"bpf", "perf", "unshare", "io_uring", "mount", "keyctl", "userfaultfd", "setns", "clone"} {
			if got := lines[n]; got != "function not implemented" && got != "operation not permitted" {
				t.Errorf("%s: %q", n, got)
			}
		}
	})
}

func TestOutputLimit(t *testing.T) {
	each(t, func(t *testing.T, s *Sandbox, p Profile) {
		r, _ := attack(t, s, Command{Profile: p, Limits: Limits{Output: 1 * mb}}, "output")
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
		r, lines := attack(t, s, Command{
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
