package source

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// codeIdentity identifies the code that packages are built of by its content: their own files and
// those of all packages that they import. So it is the same in every checkout of the same code.
// Modules of a fixed version are known by that version, and by the files of it that the build tags
// choose; the toolchain identifies the standard library.
func codeIdentity(of []*packages.Package, tags []string) (string, error) {
	parts, dialects := map[string]string{}, map[string]string{}
	var failed error
	packages.Visit(of, nil, func(q *packages.Package) {
		// A module whose path has no dot is not of the standard library.
		if q.Module == nil && isStd(q.PkgPath) || failed != nil {
			return
		}
		// The packages of a module share its dialect, which stands in its go.mod.
		module := ""
		if q.Module != nil {
			module = q.Module.Path
		}
		if _, known := dialects[module]; !known {
			dialects[module] = dialect(q.Module)
		}
		var text string
		version := pinnedVersion(q.Module)
		if text, failed = contents(q, version == ""); failed == nil {
			parts[q.PkgPath] = beagle.HashOf("package", version, dialects[module], text)
		}
	})
	if failed != nil {
		return "", failed
	}
	all := []any{strings.Join(tags, ",")} // a list that JSON has read may be nil
	for _, path := range inorder.Keys(parts) {
		all = append(all, path, parts[path])
	}
	return beagle.HashOf("around", all...), nil
}

// pinnedVersion returns the version of a module whose files nothing changes without changing
// go.mod; "" for a module of this disk, and for one that is vendored.
func pinnedVersion(m *packages.Module) string {
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

// dialect returns what a module's go.mod says about the meaning of its code: the version of Go,
// which decides for example whether each turn of a loop has a variable of its own, and for the main
// module the settings of GODEBUG.
func dialect(m *packages.Module) string {
	if m == nil {
		return ""
	}
	said := m.GoVersion
	if !m.Main || m.GoMod == "" {
		return said
	}
	text, err := os.ReadFile(m.GoMod)
	if err != nil {
		return said
	}
	file, err := modfile.Parse(m.GoMod, text, nil)
	if err != nil { // of a newer Go
		return said + string(text)
	}
	for _, d := range file.Godebug {
		said += " " + d.Key + "=" + d.Value
	}
	return said
}

// contents returns a hash of the names of the files that a package is built of, and of their texts
// if these count.
func contents(p *packages.Package, texts bool) (string, error) {
	h := sha256.New()
	for _, files := range [][]string{p.GoFiles, p.OtherFiles, p.EmbedFiles} {
		for _, path := range files {
			name, err := filepath.Rel(p.Dir, path)
			if err != nil { // generated elsewhere
				name = filepath.Base(path)
			}
			fmt.Fprintf(h, "%q\n", filepath.ToSlash(name))
			if !texts {
				continue
			}
			if err := addText(h, path); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// addText adds the hash of a file's text. Embedded files may be larger than the memory.
func addText(h hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text := sha256.New()
	_, err = io.Copy(text, f)
	fmt.Fprintf(h, "%x\n", text.Sum(nil))
	return err
}
