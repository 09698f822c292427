//go:build !unix

package store

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock makes a file that must not be there. It outlives a holder that is
// killed; the message names the file's process, and the file can be removed.
func tryLock(path string) (f *os.File, ok bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, false, nil
	}
	return f, err == nil, err
}

const glance = false

// held reports whether the lock's file is there.
func held(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func unlock(f *os.File) error {
	f.Close()
	return os.Remove(f.Name())
}
