//go:build unix && !(aix || solaris)

package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// create makes the lock and then the directory. It returns nil when another
// process, on its round, took the file before it was locked.
func create(stem string) (*Dir, error) {
	f, err := os.CreateTemp(filepath.Dir(stem), filepath.Base(stem)+"*"+suffix)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !current(f) {
		f.Close()
		return nil, nil
	}
	d := &Dir{Path: strings.TrimSuffix(f.Name(), suffix), lock: f}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		os.Remove(f.Name())
		f.Close()
		return nil, err
	}
	return d, nil
}

// current reports whether an open file still has its name.
func current(f *os.File) bool {
	opened, err := f.Stat()
	named, err2 := os.Stat(f.Name())
	return err == nil && err2 == nil && os.SameFile(opened, named)
}

// Sweep removes the directories in a directory that have no owner any more. It
// leaves alone what belongs to other users.
func Sweep(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, prefix+"*"+suffix))
	for _, path := range locks {
		sweepOne(path)
	}
}

func sweepOne(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !current(f) {
		return
	}
	if os.RemoveAll(strings.TrimSuffix(path, suffix)) == nil {
		os.Remove(path)
	}
}
