// Package modcopy makes writable copies of published modules, which the go command downloads by
// version. The copies stay outside of this repository.
package modcopy

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle/internal/tail"
)

// Get downloads a module version through the module proxy and copies it below
// dir. It returns the copy's directory, and the same one for a second call. A new
// copy is handed to each of ready before it gets its place.
func Get(ctx context.Context, dir, module, version string, ready ...func(copied string) error) (string, error) {
	to := filepath.Join(dir, strings.ReplaceAll(module, "/", "_")+"@"+version)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	out, err := Go(ctx, dir, "mod", "download", "-json", module+"@"+version)
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr == nil && got.Error != "" {
		return "", fmt.Errorf("download %s@%s: %s", module, version, got.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s@%s: %w", module, version, err)
	}
	tmp, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := os.CopyFS(tmp, os.DirFS(got.Dir)); err != nil {
		return "", fmt.Errorf("copy %s@%s: %w", module, version, err)
	}
	if err := prepare(tmp, module); err != nil {
		return "", err
	}
	for _, f := range ready {
		if err := f(tmp); err != nil {
			return "", err
		}
	}
	if err := os.Rename(tmp, to); err != nil && !Exists(to) { // another call may have been first
		return "", err
	}
	return to, nil
}

// prepare makes a copy writable, removes what is left of a vendor directory, and
// gives the copy a go.mod if it predates modules.
func prepare(dir, module string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o200)
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
		return err
	}
	mod := filepath.Join(dir, "go.mod")
	if Exists(mod) {
		return nil
	}
	return os.WriteFile(mod, []byte("module "+module+"\n"), 0o644)
}

// Require adds what packages and their tests import to go.mod and go.sum: a
// published go.sum often lacks what only tests need.
func Require(ctx context.Context, dir string, patterns ...string) error {
	if _, err := Go(ctx, dir, append([]string{"list", "-mod=mod", "-test", "-deps"}, patterns...)...); err != nil {
		return fmt.Errorf("dependencies of %s: %w", strings.Join(patterns, " "), err)
	}
	return nil
}

// Go runs the go command outside of any workspace. Its error holds the last line of the command's
// message.
func Go(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil && problems.Len() > 0 {
		err = fmt.Errorf("go %s: %w: %s", args[0], err, tail.Last(problems.String(), 1))
	}
	return out, err
}

// Exists reports whether a file or a directory is there.
func Exists(path string) bool { _, err := os.Stat(path); return err == nil }
