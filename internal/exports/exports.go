// Package exports reads compiled packages for the type checker, and what the go command says of
// them. It does what go/importer does with the compiler's export data. It links neither an importer
// of source text nor one of gccgo's.
package exports

import (
	"bufio"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/tools/go/gcexportdata"
)

// importPos is the first position of imported packages. It lies beyond every position in the
// packages that are checked from source, so that the two are never confused.
const importPos = 1 << 40

// An Importer is a [types.Importer] of compiled packages. It is safe for concurrent use, and a
// package that was read once stays.
type Importer struct {
	fset *token.FileSet

	mu    sync.Mutex
	files map[string]string // import path -> export data
	pkgs  map[string]*types.Package
	find  func(path string) (string, error)
}

// New returns an importer that asks find for the file with a package's export data, unless
// [Importer.Add] gave it. find may be nil.
func New(find func(path string) (file string, err error)) *Importer {
	x := &Importer{
		fset:  token.NewFileSet(),
		files: map[string]string{},
		pkgs:  map[string]*types.Package{"unsafe": types.Unsafe},
		find:  find,
	}
	x.fset.AddFile("", importPos, 0)
	return x
}

// Add tells the file with a package's export data.
func (x *Importer) Add(path, file string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[path] = file
}

// Has reports whether the file of a package is known by now.
func (x *Importer) Has(path string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.files[path] != ""
}

// Import implements [types.Importer].
func (x *Importer) Import(path string) (*types.Package, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.pkgs[path]; p != nil && p.Complete() {
		return p, nil
	}
	file := x.files[path]
	if file == "" {
		if x.find == nil {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		var err error
		if file, err = x.find(path); err != nil {
			return nil, err
		}
		x.files[path] = file
	}
	return x.read(path, file)
}

func (x *Importer) read(path, file string) (*types.Package, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 go list -export names archives, which this package reads until Go 1.29
	r, err := gcexportdata.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("export data of %s: %w", path, err)
	}
	return gcexportdata.Read(r, x.fset, x.pkgs, path)
}

// Listed asks the go command of the current directory for a package's export data, which it
// compiles if need be.
func Listed(path string) (file string, err error) {
	out, err := exec.Command("go", "list", "-export", "-f", "{{.Export}}", "--", path).Output()
	if err != nil {
		return "", fmt.Errorf("no export data of %s: go list: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}
