package tagger

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// Containers finds the container of a process. Several goroutines may use it.
type Containers struct {
	proc string

	mu    sync.Mutex
	known map[int32]foundContainer
}

type foundContainer struct {
	id string
	at int64
}

// NewContainers looks under proc, which is /proc outside of tests.
func NewContainers(proc string) *Containers {
	return &Containers{proc: proc, known: map[int32]foundContainer{}}
}

const (
	// seconds that an answer holds: the system reuses a process's number, but not soon
	believed = 10
	maxKnown = 4096
	maxFile  = 64 << 10
)

// ContainerOf returns the id of the process' container, or "" if it runs in none, has ended, or is
// not visible. now is in Unix seconds.
func (c *Containers) ContainerOf(pid int32, now int64) string {
	if pid <= 0 {
		return ""
	}
	c.mu.Lock()
	f, ok := c.known[pid]
	c.mu.Unlock()
	if ok && f.holds(now) {
		return f.id
	}
	// Read without the lock: /proc can be slow, and other callers know their processes. Two may
	// read the same file, with the same result.
	id := c.read(pid)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[pid]; !ok {
		c.makeRoom(now)
	}
	c.known[pid] = foundContainer{id, now}
	return id
}

// holds reports whether an answer is still valid; after the clock was set back it is read again.
func (f foundContainer) holds(now int64) bool { return now >= f.at && now < f.at+believed }

// makeRoom drops invalid answers, and all if that is not enough; the lock is held.
func (c *Containers) makeRoom(now int64) {
	if len(c.known) < maxKnown {
		return
	}
	maps.DeleteFunc(c.known, func(_ int32, f foundContainer) bool { return !f.holds(now) })
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
}

func (c *Containers) read(pid int32) string {
	f, err := os.Open(filepath.Join(c.proc, strconv.Itoa(int(pid)), "cgroup"))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return containerID(text)
}

// idInPath matches the ID of a container: Docker, containerd and CRI-O have 64 digits in the path,
// with words around them; ECS on Fargate has 32 and a number.
var idInPath = regexp.MustCompile(`(?:^|[^0-9a-f])([0-9a-f]{64}|[0-9a-f]{32}-[0-9]{1,20})(?:[^0-9a-z-]|$)`)

// containerID reads the file of /proc: lines of hierarchy:controllers:path. A container
// inside another one comes last in the path.
func containerID(cgroup []byte) string {
	for line := range bytes.Lines(cgroup) {
		parts := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(":"), 3)
		if len(parts) != 3 {
			continue
		}
		steps := bytes.Split(parts[2], []byte("/"))
		for i := len(steps) - 1; i >= 0; i-- {
			if m := idInPath.FindSubmatch(steps[i]); m != nil {
				return string(m[1])
			}
		}
	}
	return ""
}
