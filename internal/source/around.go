package source

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// around identifies the code that a package is built of by its content: its own files and those of
// all packages that it imports. So it is the same in every checkout of the same code. Modules of a
// fixed version are known by that version; the toolchain identifies the standard library.
func around(p *packages.Package) (string, error) {
	parts := map[string]string{}
	var failed error
	packages.Visit([]*packages.Package{p}, nil, func(q *packages.Package) {
		if isStd(q.PkgPath) || failed != nil {
			return
		}
		if parts[q.PkgPath] = fixed(q.Module); parts[q.PkgPath] == "" {
			parts[q.PkgPath], failed = contents(q)
		}
	})
	if failed != nil {
		return "", failed
	}
	var all []any
	for _, path := range inorder.Keys(parts) {
		all = append(all, path, parts[path])
	}
	return beagle.HashOf("around", all...), nil
}

// fixed returns the version of a module whose files nobody changes without changing go.mod; "" for
// a module of this disk, and for one that is vendored.
func fixed(m *packages.Module) string {
	if m == nil || m.Dir == "" {
		return ""
	}
	if m.Replace != nil {
		m = m.Replace
	}
	if m.Version == "" {
		return ""
	}
	return m.Path + "@" + m.Version
}

// contents returns a hash of the names and texts of the files that a package is built of.
func contents(p *packages.Package) (string, error) {
	h := sha256.New()
	for _, files := range [][]string{p.GoFiles, p.OtherFiles, p.EmbedFiles} {
		for _, path := range files {
			if err := addFile(h, p.Dir, path); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

func addFile(h hash.Hash, dir, path string) error {
	name, err := filepath.Rel(dir, path)
	if err != nil { // generated elsewhere
		name = filepath.Base(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(h, "%q\n", filepath.ToSlash(name))
	_, err = io.Copy(h, f)
	return err
}
