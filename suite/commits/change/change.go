// Package change holds functions of public modules before and after a performance
// commit: a manifest of their names, and the later version cut out as a candidate
// file for the earlier one. It holds no code of these modules.
package change

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/modcopy"
)

// All returns the entries of the built-in manifest.
func All() ([]Entry, error) { return ReadManifest(manifestJSON) }

// Candidate downloads both versions below dir. It returns the earlier one's
// directory and a file with the function cut out of the later one.
func (e *Entry) Candidate(ctx context.Context, dir string) (before, file string, err error) {
	mods := filepath.Join(dir, "mod")
	where, name := split(e.Function)
	var versions [2]*pkg
	var dirs [2]string
	for i, version := range []string{e.Before, e.After} {
		if dirs[i], err = modcopy.Get(ctx, mods, e.Module, version); err != nil {
			return "", "", err
		}
	}
	if err := modcopy.Require(ctx, dirs[0], where); err != nil {
		return "", "", err
	}
	if versions[0], err = load(ctx, dirs[0], where); err != nil {
		return "", "", fmt.Errorf("before: %w", err)
	}
	if versions[1], err = loadTyped(ctx, dirs[1], where); err != nil {
		return "", "", fmt.Errorf("after: %w", err)
	}
	src, err := cut(versions[0], versions[1], name, e.Keep)
	if err != nil {
		return "", "", fmt.Errorf("cut: %w", err)
	}
	file = filepath.Join(dir, "cut", beagle.HashOf("cut", e.Name(), e.Commit)+".go")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", "", err
	}
	return dirs[0], file, os.WriteFile(file, []byte(src), 0o644)
}

// split separates "./dir.Type.Method" into the package's directory, "./dir", and
// the function's name in it, "Type.Method".
func split(function string) (pkg, name string) {
	slash := strings.LastIndex(function, "/") + 1
	if slash == 0 {
		return ".", function
	}
	dir, name, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + dir, name
}
