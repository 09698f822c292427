//go:build !unix || aix || solaris

package scratch

import (
	"os"
	"path/filepath"
)

func create(stem string) (*Dir, error) {
	dir, err := os.MkdirTemp(filepath.Dir(stem), filepath.Base(stem)+"*")
	return &Dir{Path: dir}, err
}

// Sweep does nothing: without locks no process knows which others live.
func Sweep(string) {}
