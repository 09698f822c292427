package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file, whole or not at all: it writes another file beside it, waits for the disk,
// and renames it. No reader ever sees half of the data, and after an error the old file is still
// there. A link stays one: the file that it leads to is replaced. Replace writes to a device, to a
// pipe and to this process's own output, such as /dev/stdout.
func Replace(path string, data []byte, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && isStream(info) {
		return send(path, data)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".beagle-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// isStream reports whether a file in the place of another would lose its readers, as those of a
// device, or of the file that this process prints to.
func isStream(info fs.FileInfo) bool {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if own, err := f.Stat(); err == nil && os.SameFile(info, own) {
			return true
		}
	}
	return !info.IsDir() && !info.Mode().IsRegular()
}

// send writes to a file that is there, after all that it holds.
func send(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
