package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/modcopy"
)

// A lab holds writable copies of public modules.
type lab struct {
	dir, root string
	scratch   bool // dir is removed at the end
}

// standard is the pseudo-module of the standard library's packages.
const standard = "std"

func (l *lab) open() error {
	if l.dir != "" {
		return os.MkdirAll(l.dir, 0o755)
	}
	dir, err := os.MkdirTemp("", "strangers")
	l.dir, l.scratch = dir, true
	return err
}

func (l *lab) close() {
	if l.scratch {
		os.RemoveAll(l.dir)
	}
}

// module returns the directory of a writable copy of a module. It downloads the
// module and what its tests need, once.
func (l *lab) module(ctx context.Context, path, version string) (string, error) {
	if to := filepath.Join(l.dir, "std@"+version); path == standard {
		if modcopy.Exists(to) {
			return to, nil
		}
		return to, copyStandard(ctx, to)
	}
	return modcopy.Get(ctx, l.dir, path, version, func(copied string) error {
		// Tests may need more than go.sum lists. A missing module shows when a function is loaded.
		_, _ = goCommand(ctx, copied, "go", "mod", "download")
		_, _ = goCommand(ctx, copied, "go", "list", "-test", "-deps", "./...")
		return ctx.Err()
	})
}

// goCommand runs the go command outside of any workspace, and lets it complete go.mod and go.sum.
func goCommand(ctx context.Context, dir string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return out, err
}

func copyTree(to, from string, want func(rel string) bool) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || !want(rel):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}

// copyStandard makes a module of those packages of the standard library that
// import nothing internal. Their test files stay where the same holds for them.
func copyStandard(ctx context.Context, to string) error {
	root, err := goCommand(ctx, ".", "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	out, err := goCommand(ctx, src, "go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles,SFiles", "std")
	if err != nil {
		return err
	}
	type listed struct {
		ImportPath, Dir          string
		Imports, GoFiles, SFiles []string
	}
	all, err := exports.Decode[listed](out)
	if err != nil {
		return err
	}
	for _, p := range all {
		if len(p.SFiles) > 0 || internal(append(p.Imports, p.ImportPath)) ||
			strings.HasPrefix(p.ImportPath, "vendor/") {
			continue
		}
		dir := filepath.Join(to, filepath.FromSlash(p.ImportPath))
		for _, name := range append(p.GoFiles, tests(p.Dir)...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			// A test in an external test package must test the copy.
			text = bytes.ReplaceAll(text, []byte(`"`+p.ImportPath+`"`), []byte(`"example.com/std/`+p.ImportPath+`"`))
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return err
			}
		}
		if data := filepath.Join(p.Dir, "testdata"); modcopy.Exists(data) {
			if err := copyTree(filepath.Join(dir, "testdata"), data, func(string) bool { return true }); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), []byte("module example.com/std\n\ngo 1.26\n"), 0o644)
}

// tests lists the test files of a directory that import nothing internal.
func tests(dir string) (names []string) {
	list, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, path := range list {
		f, err := parseImports(path)
		if err == nil && !internal(f) {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

func internal(imports []string) bool {
	for _, p := range imports {
		if p == "unsafe" || p == "C" || p == "runtime" || p == "testing/synctest" ||
			strings.HasPrefix(p, "internal/") ||
			strings.Contains(p, "/internal/") || strings.HasSuffix(p, "/internal") || strings.HasPrefix(p, "runtime/") {
			return true
		}
	}
	return false
}
