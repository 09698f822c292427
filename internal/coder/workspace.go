package coder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/modfile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/source"
)

// beagleDir is the directory in the copy that belongs to Beagle.
const beagleDir = ".beagle"

// maxCopy bounds the copy of a module. A larger one holds data that no agent needs to see, and
// every turn would copy it.
const maxCopy = 2 << 30

// skippedDirs are directories that are not copied.
var skippedDirs = []string{".git", ".hg", ".svn", "node_modules", beagleDir}

// A workspace is a copy of a module, with a memory of its first state.
type workspace struct {
	dir         string              // the module's root in the copy
	firstHashes map[string][32]byte // by path relative to dir
}

// newWorkspace copies the module at root into dir, without the files to omit.
func newWorkspace(root, dir string, omit ...string) (*workspace, error) {
	if err := standsAlone(root); err != nil {
		return nil, err
	}
	hidden, err := infos(omit)
	if err != nil {
		return nil, err
	}
	left := int64(maxCopy)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && path != root && (slices.Contains(skippedDirs, d.Name()) || holds(path, dir)):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, rel), 0o755)
		case !d.Type().IsRegular(): // a link may lead out of the copy
			return nil
		case isAmong(d, hidden):
			return nil
		}
		n, err := copyFile(filepath.Join(dir, rel), path)
		if left -= n; left < 0 {
			err = &beagle.UsageError{
				What:   fmt.Sprintf("the module at %s is larger than %d MB", root, maxCopy>>20),
				Remedy: "a coding agent works in a copy; move data that is not code out of the module",
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &workspace{dir: dir}, nil
}

// infos identify files, by whatever name they are met.
func infos(paths []string) ([]fs.FileInfo, error) {
	var out []fs.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a run may go on after its inputs were moved
		}
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func isAmong(d fs.DirEntry, of []fs.FileInfo) bool {
	if len(of) == 0 {
		return false
	}
	info, err := d.Info()
	return err == nil && slices.ContainsFunc(of, func(o fs.FileInfo) bool { return os.SameFile(info, o) })
}

// holds reports whether a directory is another one or has it below it: a temporary
// directory in the module must not be copied into itself.
func holds(dir, other string) bool {
	rel, err := filepath.Rel(dir, other)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// standsAlone refuses a module that needs others at their places beside it.
func standsAlone(root string) error {
	name := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		return err
	}
	for _, r := range mod.Replace {
		if r.New.Version == "" && !filepath.IsAbs(r.New.Path) && strings.HasPrefix(filepath.Clean(r.New.Path), "..") {
			return &beagle.UsageError{
				What: fmt.Sprintf("%s replaces %s by %s, which would not be beside a copy of the module", name,
					r.Old.Path, r.New.Path),
				Remedy: "give the replacement as an absolute path, or let the models write candidates instead: --model",
			}
		}
	}
	return nil
}

// loads refuses a module whose copy cannot be loaded, before an agent is paid for work on it. The
// module may need a workspace (go.work) that the copy lacks.
func (c *Coder) loads(ctx context.Context, w *workspace) error {
	c.checked.Lock()
	defer c.checked.Unlock()
	if c.sound {
		return nil
	}
	// Load the target from the copy.
	o, err := c.loadIn(w)
	if err != nil {
		return err
	}
	if _, err := source.Load(ctx, o); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// A lack of room says nothing about the module.
		if scarce(err) {
			return &beagle.UsageError{
				What: fmt.Sprintf("a copy of the module at %s could not be loaded for want of room: %v",
					c.Unit.Target.Dir, err),
				Remedy: "free what is short (disk, memory, open files, processes), then try again",
			}
		}
		return &beagle.UsageError{
			What: fmt.Sprintf("a copy of the module at %s, as coding agents work in, cannot be loaded: %v",
				c.Unit.Target.Dir, err),
			Remedy: "make the module build by itself ('GOWORK=off go build ./...' in it): name what it needs in its " +
				"go.mod, with replacements as absolute paths; or let models write candidates instead: --model",
		}
	}
	c.sound = true
	return nil
}

// scarce reports whether an error is the machine's rather than the module's. The go command
// passes errors on as text only.
func scarce(err error) bool {
	for _, short := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE,
		syscall.ENOMEM, syscall.EAGAIN} {
		if errors.Is(err, short) || strings.Contains(err.Error(), short.Error()) {
			return true
		}
	}
	return false
}

// loadIn returns the options for loading the target in a copy.
func (c *Coder) loadIn(w *workspace) (source.Options, error) {
	o, target := c.Load, &c.Unit.Target
	pkg, err := filepath.Rel(target.Dir, target.PkgDir)
	o.Dir, o.Spec = w.dir, "./"+filepath.ToSlash(pkg)+"."+target.Name
	return o, err
}

func copyFile(to, from string) (n int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, in)
	return n, errors.Join(err, out.Close())
}

// put writes a file of Beagle's own.
func (w *workspace) put(name, text string) error {
	if err := os.MkdirAll(filepath.Join(w.dir, beagleDir), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, beagleDir, name), []byte(text), 0o644)
}

// apply writes a version of the target into the copy.
func (w *workspace) apply(p beagle.Patch) error {
	for _, f := range p.Files {
		if err := os.WriteFile(filepath.Join(w.dir, f.Path), []byte(f.After), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// remember notes the present state.
func (w *workspace) remember() (err error) {
	w.firstHashes, err = w.sums()
	return err
}

func (w *workspace) sums() (map[string][32]byte, error) {
	sums := map[string][32]byte{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && path != w.dir && slices.Contains(skippedDirs, d.Name()) {
				return filepath.SkipDir
			}
			return err
		}
		rel, err := filepath.Rel(w.dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sums[rel], err = sumOf(path, info)
		}
		return err
	})
	return sums, err
}

// sumOf identifies a file by its kind and content. For a large one, which may be larger than any
// disk, it takes the size and the time.
func sumOf(path string, info fs.FileInfo) (sum [32]byte, err error) {
	switch {
	case !info.Mode().IsRegular():
		return sha256.Sum256([]byte(info.Mode().Type().String())), nil
	case info.Size() > maxFile:
		return sha256.Sum256(fmt.Append(nil, info.Size(), info.ModTime())), nil
	}
	text, err := readRegular(path)
	return sha256.Sum256(text), err
}

// readRegular reads a file of the copy: no device, no pipe, which could block or
// never end, and nothing that is too long.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxFile)
	}
	return text, err
}

// changedFiles lists the files that are new, gone or different.
func (w *workspace) changedFiles() ([]string, error) {
	after, err := w.sums()
	if err != nil {
		return nil, err
	}
	var names []string
	for name, sum := range after {
		if old, ok := w.firstHashes[name]; !ok || old != sum {
			names = append(names, name)
		}
	}
	for name := range w.firstHashes {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	inorder.Sort(names)
	return names, nil
}
