package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// An attack is a program of internal/sandbox/attack, with the criteria for its success.
type attack struct {
	what  string
	name  string
	lines []string // what it prints of each thing it tries: "NAME: <nil>" is a success
	count string   // or the number that it prints of what it obtained,
	most  int      // and how much of it is no success
	ended []string // or the ends that stop it
	limit sandbox.Limits
}

// attacks are those of a payload that other sandboxes were measured with, and our own attacks on
// our walls.
var attacks = []attack{
	{what: "connect by TCP", name: "network", lines: []string{"tcp"}},
	{what: "send by UDP", name: "network", lines: []string{"udp"}},
	{what: "connect to an abstract unix socket", name: "network", lines: []string{"abstract"}},
	{what: "read a secret outside", name: "read", lines: []string{"secret", "shadow"}},
	{what: "write outside", name: "write", lines: []string{"secret", "passwd", "own binary"}},
	{what: "find a secret in the environment", name: "secret"},
	{what: "start 300 processes", name: "forks", count: "started", most: 64, ended: []string{sandbox.Tasks},
		limit: sandbox.Limits{Procs: 64}},
	{what: "leave the process group and live on", name: "escape"},
	{what: "start 300 threads", name: "threads", count: "threads", most: 64,
		ended: []string{sandbox.Tasks, sandbox.Memory}, limit: sandbox.Limits{Procs: 64}},
	{what: "take 1.5 GB of memory", name: "memory", count: "allocated", most: 512, ended: []string{sandbox.Memory},
		limit: sandbox.Limits{Data: 512 << 20}},
	{what: "take 1.5 GB of shared memory", name: "shared", count: "shared", most: 1024, ended: []string{sandbox.Memory},
		limit: sandbox.Limits{Data: 512 << 20}},
	{what: "loop without end", name: "loop", ended: []string{sandbox.Wall}, limit: sandbox.Limits{
		Wall: 300 * time.Millisecond,
	}},
	{what: "print without end", name: "output", ended: []string{sandbox.Output}, limit: sandbox.Limits{
		Output: 1 << 20,
	}},
	{what: "write a file of 1 GB", name: "bigfile", count: "wrote", most: 16, ended: []string{sandbox.Disk},
		limit: sandbox.Limits{File: 16 << 20}},
	{what: "write 64 files of 8 MB", name: "files", count: "wrote", most: 16, ended: []string{sandbox.Disk},
		limit: sandbox.Limits{File: 16 << 20}},
	{what: "write 64 hidden files of 8 MB", name: "hidden", count: "wrote", most: 16, ended: []string{sandbox.Disk},
		limit: sandbox.Limits{File: 16 << 20}},
	{what: "kill, trace or read another process", name: "others",
		lines: []string{"kill", "tgkill", "ptrace", "environ"}},
	{what: "bpf, perf, unshare, io_uring, mount, keyctl, userfaultfd, setns", name: "syscalls",
		lines: []string{"bpf", "perf", "unshare", "io_uring", "mount", "keyctl", "userfaultfd", "setns", "clone"}},
}

var sandboxes = []sandbox.Profile{sandbox.Run, sandbox.Fuzz, sandbox.Build, sandbox.Test}

// attackTable lets this program itself attack from inside every sandbox.
func attackTable(ctx context.Context, l *lab) (*section, error) {
	// Open the victims.
	host, err := l.openVictims()
	if err != nil {
		return nil, err
	}
	defer host.close()
	// Write a row for each attack, and a column for each profile.
	s := new(section)
	head := []string{"attack"}
	rows := make([][]string, len(attacks))
	for i := range attacks {
		rows[i] = []string{attacks[i].what}
	}
	// Try each attack in each sandbox, with namespaces and without.
	for _, fallback := range []bool{false, true} {
		box, err := sandbox.New(sandbox.Options{Fallback: fallback})
		if err != nil {
			return nil, err
		}
		for _, p := range sandboxes {
			head = append(head, p.String()+map[bool]string{true: ", no namespaces"}[fallback])
			for i := range attacks {
				cell, err := host.try(ctx, box, p, &attacks[i])
				if err != nil {
					return nil, fmt.Errorf("%s in %s: %w", attacks[i].what, head[len(head)-1], err)
				}
				rows[i] = append(rows[i], cell)
				if cell != "stopped" && p == sandbox.Run {
					s.miss("%s in %s: %s", attacks[i].what, head[len(head)-1], cell)
				}
			}
		}
	}
	s.text = table(head, rows)
	return s, nil
}

// victims are the targets of the attacks.
type victims struct {
	dir    string
	tcp    net.Listener
	udp    net.PacketConn
	unix   net.Listener
	sleepy *exec.Cmd
}

const marker = "beagle-figures-secret"

func (l *lab) openVictims() (v *victims, err error) {
	v = &victims{dir: filepath.Join(l.dir, "victims")}
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(v.dir, "secret"), []byte(marker), 0o644); err != nil {
		return nil, err
	}
	if v.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if v.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if v.unix, err = net.Listen("unix", fmt.Sprintf("@beagle-abstract-%d", os.Getpid())); err != nil {
		return nil, err
	}
	v.sleepy = exec.Command("/bin/sleep", "3600")
	v.sleepy.Env = []string{"SECRET=" + marker}
	os.Setenv("AWS_SECRET_ACCESS_KEY", marker)
	return v, v.sleepy.Start()
}

func (v *victims) close() {
	os.Unsetenv("AWS_SECRET_ACCESS_KEY")
	v.tcp.Close()
	v.udp.Close()
	v.unix.Close()
	v.sleepy.Process.Kill()
	v.sleepy.Wait()
}

func (v *victims) arguments(a *attack) []string {
	switch a.name {
	case "network":
		return []string{v.tcp.Addr().String(), v.udp.LocalAddr().String(), v.unix.Addr().String()}
	case "read":
		return []string{filepath.Join(v.dir, "secret"), "/etc/shadow"}
	case "write":
		return []string{filepath.Join(v.dir, "secret"), "/etc/passwd"}
	case "others":
		return []string{strconv.Itoa(v.sleepy.Process.Pid)}
	}
	return nil
}

// try makes one attack and says how it ended.
func (v *victims) try(ctx context.Context, box *sandbox.Sandbox, p sandbox.Profile, a *attack) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if a.limit.Wall == 0 {
		a.limit.Wall = 2 * time.Minute
	}
	r, err := box.Run(ctx, sandbox.Command{
		Profile: p,
		Path:    exe,
		Args:    append([]string{"attack", a.name}, v.arguments(a)...),
		Limits:  a.limit,
	})
	if err != nil {
		return "", err
	}
	if a.name == "network" && a.lines[0] == "udp" { // only arrived packets count
		v.udp.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if n, _, err := v.udp.ReadFrom(make([]byte, 64)); err == nil {
			return fmt.Sprintf("open: %d bytes arrived", n), nil
		}
		return "stopped", nil
	}
	if left := alive(exe); len(left) > 0 {
		return "open: " + strings.Join(left, ", ") + " live on", nil
	}
	return a.judge(&r), nil
}

// judge returns "stopped", or the way that the attack found open.
func (a *attack) judge(r *sandbox.Result) string {
	printed := map[string]string{}
	for line := range strings.Lines(string(r.Stdout)) {
		k, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		printed[filepath.Base(k)] = value
	}
	for _, end := range a.ended {
		if r.Ended == end {
			return "stopped"
		}
	}
	for _, name := range a.lines {
		if got, ok := printed[name]; !ok || got == "<nil>" {
			return "open: " + name
		}
	}
	switch n, err := strconv.Atoi(strings.Fields(printed[a.count] + " -")[0]); {
	case a.count != "" && err == nil && n > a.most:
		return fmt.Sprintf("open: %d", n)
	case a.count != "" && err != nil && r.OK():
		return "open"
	case a.count == "" && len(a.ended) > 0:
		return "open: " + r.Ended
	case bytes.Contains(r.Stdout, []byte(marker)):
		return "open: the secret was read"
	}
	return "stopped"
}

// alive lists the attacks that still run.
func alive(exe string) (left []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		if text, _ := os.ReadFile(p); bytes.HasPrefix(text, []byte(exe+"\x00attack\x00")) {
			left = append(left, filepath.Base(filepath.Dir(p)))
		}
	}
	return left
}
