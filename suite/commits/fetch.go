package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fetch downloads a module version through the module proxy and copies it below
// dir, writable. It returns the copy's directory, and the same one for a second
// call.
func fetch(ctx context.Context, dir, module, version string) (string, error) {
	to := filepath.Join(dir, strings.ReplaceAll(module, "/", "_")+"@"+version)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	out, err := goCommand(ctx, dir, "mod", "download", "-json", module+"@"+version)
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr == nil && got.Error != "" {
		return "", fmt.Errorf("download %s@%s: %s", module, version, got.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s@%s: %w", module, version, err)
	}
	tmp := to + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := os.CopyFS(tmp, os.DirFS(got.Dir)); err != nil {
		return "", fmt.Errorf("copy %s@%s: %w", module, version, err)
	}
	if err := prepare(tmp, module); err != nil {
		return "", err
	}
	return to, os.Rename(tmp, to)
}

// prepare makes a copy writable, removes what is left of a vendor directory, and
// gives the copy a go.mod if it predates modules.
func prepare(dir, module string) error {
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
	if _, err := os.Stat(mod); err == nil {
		return nil
	}
	return os.WriteFile(mod, []byte("module "+module+"\n"), 0o644)
}

// require adds what the package and its tests import to go.mod and go.sum: a
// published go.sum often lacks what only tests need.
func require(ctx context.Context, dir, pkg string) error {
	if _, err := goCommand(ctx, dir, "list", "-mod=mod", "-test", "-deps", pkg); err != nil {
		return fmt.Errorf("dependencies of %s: %w", pkg, err)
	}
	return nil
}

// goCommand runs the go command.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil && problems.Len() > 0 {
		err = fmt.Errorf("go %s: %w: %s", args[0], err, lastLine(problems.String()))
	}
	return out, err
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
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
