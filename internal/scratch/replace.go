package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file, whole or not at all: it writes another file beside it, waits for the disk,
// and renames it. No reader ever sees half of the data, and after an error the old file is still
// there.
func Replace(path string, data []byte, mode fs.FileMode) error {
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
