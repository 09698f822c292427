package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A cgroupRoot holds the directories for new control groups: one under version 2, one for each
// controller under version 1, none if not allowed.
type cgroupRoot struct {
	dirs    []string
	unified bool
}

// A cgroup bounds the memory and the tasks of a program and all that it
// starts, in total. A nil cgroup bounds nothing.
type cgroup struct {
	root cgroupRoot
	dirs []string
}

var cgroupCount atomic.Int64

// findCgroups looks for a place below mount, given the lines of
// /proc/self/cgroup, where a group with memory and pids can be made.
func findCgroups(mount, lines string) cgroupRoot {
	var v1 []string
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch f[1] {
		case "":
			// The group that this process is in cannot have children with
			// controllers, unless it is the root; its parent can.
			for _, p := range []string{f[2], filepath.Dir(f[2])} {
				dir := filepath.Join(mount, p)
				if hasControllers(dir) && writable(dir) {
					return cgroupRoot{dirs: []string{dir}, unified: true}
				}
			}
		case "memory", "pids":
			for _, p := range []string{f[2], "/"} { // a container may see its own group as the root
				if dir := filepath.Join(mount, f[1], p); writable(dir) {
					v1 = append(v1, dir)
					break
				}
			}
		}
	}
	if len(v1) == 2 {
		return cgroupRoot{dirs: v1}
	}
	return cgroupRoot{}
}

func hasControllers(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	has := strings.Fields(string(text))
	return err == nil && slices.Contains(has, "memory") && slices.Contains(has, "pids")
}

func writable(dir string) bool {
	probe := filepath.Join(dir, fmt.Sprintf("beagle-probe-%d", os.Getpid()))
	if os.Mkdir(probe, 0o755) != nil {
		return false
	}
	return os.Remove(probe) == nil
}

// sweep removes the groups of processes that were killed. Only empty groups
// can be removed.
func (r cgroupRoot) sweep() {
	for _, d := range r.dirs {
		groups, _ := filepath.Glob(filepath.Join(d, "beagle-*-*"))
		for _, g := range groups {
			var pid, n int
			if _, err := fmt.Sscanf(filepath.Base(g), "beagle-%d-%d", &pid, &n); err != nil {
				continue
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); os.IsNotExist(err) {
				os.Remove(g)
			}
		}
	}
}

// enter makes a group with the limits and puts a process into it. A group that
// cannot be made is no failure: the limits of each process still hold.
func (r cgroupRoot) enter(pid int, l Limits) *cgroup {
	if len(r.dirs) == 0 {
		return nil
	}
	g := &cgroup{root: r}
	name := fmt.Sprintf("beagle-%d-%d", os.Getpid(), cgroupCount.Add(1))
	for _, d := range r.dirs {
		dir := filepath.Join(d, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		g.dirs = append(g.dirs, dir)
		if l.Procs > 0 {
			set(dir, "pids.max", int64(l.Procs))
		}
		if l.Data > 0 {
			set(dir, "memory.limit_in_bytes", l.Data+l.File)
			set(dir, "memory.max", l.Data+l.File) // the work directory counts as memory
		}
		set(dir, "cgroup.procs", int64(pid))
	}
	return g
}

// set writes a control file if the group has it.
func set(dir, file string, v int64) {
	path := filepath.Join(dir, file)
	if _, err := os.Stat(path); err == nil {
		_ = os.WriteFile(path, []byte(strconv.FormatInt(v, 10)), 0)
	}
}

// killed reports whether the kernel ended a process of the group for memory.
func (g *cgroup) killed() bool {
	if g == nil {
		return false
	}
	for _, dir := range g.dirs {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			text, _ := os.ReadFile(filepath.Join(dir, file))
			for line := range strings.Lines(string(text)) {
				if n, ok := strings.CutPrefix(line, "oom_kill "); ok && strings.TrimSpace(n) != "0" {
					return true
				}
			}
		}
	}
	return false
}

// remove kills the rest of the group and removes it. The kernel may need a moment for the last
// process.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	for _, dir := range g.dirs {
		set(dir, "cgroup.kill", 1)
		for range 50 {
			if err := os.Remove(dir); err == nil || os.IsNotExist(err) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}
