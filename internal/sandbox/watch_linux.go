package sandbox

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Some things the kernel counts only where there are namespaces or control
// groups. Elsewhere this process counts them while the program runs, ten times
// a second, and ends the program: it may get a tenth of a second further than
// its limit.

const watchInterval = 100 * time.Millisecond

// counted reports whether the files of the work directory are added up by this
// process. In Run the program then cannot hide one: it may not remove files,
// nor make files without a name.
func (o *orders) counted() bool { return !o.Kernel.Namespaces && o.Profile == Run }

// watch begins the watch over a program and returns what ends it.
func (o *orders) watch(k kernel, pid int, stop context.CancelCauseFunc) (end func()) {
	dirs := o.watchedDirs()
	tasks := o.Root && o.UID < 0 && o.Limits.Procs > 0 && len(k.cgroup.dirs) == 0
	if (len(dirs) == 0 || o.Limits.File <= 0) && !tasks {
		return func() {}
	}
	unseen := !o.Kernel.Namespaces && !o.counted() && o.Limits.File > 0
	done := make(chan struct{})
	begin := usage(dirs) // the directories may hold something already
	go func() {
		for tick := time.NewTicker(watchInterval); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
			if o.Limits.File > 0 && usage(dirs)-begin > o.Limits.File ||
				unseen && namelessBytes(withDescendants(pid)) > o.Limits.File {
				stop(errDisk)
			}
			if tasks && threads(withDescendants(pid)) > o.Limits.Procs {
				stop(errTasks)
			}
		}
	}()
	return func() { close(done) }
}

// watchedDirs returns the writable directories that no file system bounds. The caches that Build
// and Test write to are the user's, and large.
func (o *orders) watchedDirs() []string {
	var dirs []string
	if !o.Kernel.Namespaces {
		dirs = append(dirs, o.Home)
	}
	if o.Profile == Run || o.Profile == Fuzz {
		dirs = append(dirs, o.Write...)
	}
	return dirs
}

// usage returns the room that directories take on disk; an empty file takes an entry. Links lead
// elsewhere and are not followed.
func usage(dirs []string) (sum int64) {
	const entry = 512
	for _, dir := range dirs {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			sum += entry
			if err != nil {
				return nil // it is gone again
			}
			if info, err := d.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					sum += st.Blocks * 512
				}
			}
			return nil
		})
	}
	return sum
}

// A proc is a running process.
type proc struct{ pid, parent, threads int }

// withDescendants lists a process and all its descendants.
func withDescendants(top int) (list []proc) {
	children := map[int][]proc{}
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile("/proc/" + d.Name() + "/stat")
		name := strings.LastIndex(string(text), ") ") // it stands in parentheses and may hold anything
		if name < 0 {
			continue // it is gone again
		}
		f := strings.Fields(string(text[name+2:]))
		if len(f) < 18 {
			continue
		}
		p := proc{pid: pid}
		p.parent, _ = strconv.Atoi(f[1])
		p.threads, _ = strconv.Atoi(f[17])
		if pid == top {
			list = append(list, p)
		}
		children[p.parent] = append(children[p.parent], p)
	}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
	}
	return list
}

func threads(list []proc) (sum int) {
	for _, p := range list {
		sum += p.threads
	}
	return sum
}

// namelessBytes returns the room that open files without a name take.
func namelessBytes(list []proc) (sum int64) {
	type inode struct{ dev, ino uint64 }
	seen := map[inode]bool{}
	for _, p := range list {
		dir := "/proc/" + strconv.Itoa(p.pid) + "/fd/"
		fds, _ := os.ReadDir(dir)
		for _, fd := range fds {
			var st syscall.Stat_t
			if syscall.Stat(dir+fd.Name(), &st) != nil || st.Nlink > 0 || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
				continue
			}
			if id := (inode{uint64(st.Dev), st.Ino}); !seen[id] {
				seen[id] = true
				sum += st.Blocks * 512
			}
		}
	}
	return sum
}
