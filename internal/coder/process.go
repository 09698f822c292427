package coder

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/beagle-go/beagle/internal/procgroup"
	"github.com/beagle-go/beagle/internal/tail"
)

// marker is the variable that marks an agent's descendants, whatever group or session they moved
// to.
const marker = "BEAGLE_AGENT"

// A process is the agent's program with everything that it started. On Linux a
// keeper stands between: see keeper_linux.go.
type process struct {
	cmd  *exec.Cmd
	mark string
	tail tail.Writer

	line   *os.File // the keeper's lifeline: it ends the agent when this is closed; nil without a keeper
	farEnd *os.File // the keeper's end of it
}

// patience bounds the keeper's work of ending the agent's processes.
const patience = 5 * time.Second

// launch prepares a command line through the shell, as the user typed it, in a group
// of its own.
func launch(command, dir string) *process {
	p := &process{mark: marker + "=" + rand.Text()}
	p.cmd = exec.Command("/bin/sh", "-c", "exec "+command)
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), p.mark)
	p.cmd.Stderr = &p.tail
	procgroup.Lead(p.cmd)
	p.cmd.WaitDelay = time.Second // a child may hold the pipes open
	p.keep()
	return p
}

// end kills the group and every descendant, and waits until none is left.
func (p *process) end() {
	var late *time.Timer
	group := func() { procgroup.Kill(p.cmd.Process.Pid) }
	if p.line != nil {
		p.line.Close()
		p.farEnd.Close()
		late = time.AfterFunc(patience, group)
	} else {
		group()
	}
	p.cmd.Wait()
	if late != nil {
		late.Stop()
	}
	for range 50 { // a process that forks during a scan is found by the next one
		if killMarked(p.mark) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// killMarked kills the processes that have the mark in their environment, and
// says how many there were. Without a /proc of its own it finds none.
func killMarked(mark string) (found int) {
	if !ownProc() {
		return 0
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if string(variable) == mark {
				killOne(pid)
				found++
				break
			}
		}
	}
	return found
}

// ownProc reports whether /proc is that of this process's pid namespace: otherwise
// its numbers are other processes', if there is one at all.
func ownProc() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}
