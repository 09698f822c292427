package source

import (
	"bufio"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"sync"

	"golang.org/x/tools/go/gcexportdata"

	"github.com/beagle-go/beagle/internal/symbol"
)

// importPos is the first position of imported packages. It lies beyond every position in the
// target's package, so that the two are never confused.
const importPos = 1 << 40

// An exports is an importer of compiled packages. It is safe for concurrent
// use, and a package that was read once stays.
type exports struct {
	fset *token.FileSet

	mu    sync.Mutex
	files map[string]string // import path -> export data
	pkgs  map[string]*types.Package
	find  func(path string) (string, error) // export data of a standard package not in files
	also  map[string]string                 // names of packages that the target's does not import, and a candidate may
}

func newExports(find func(path string) (string, error)) *exports {
	x := &exports{
		fset:  token.NewFileSet(),
		files: map[string]string{},
		also:  map[string]string{},
		pkgs:  map[string]*types.Package{"unsafe": types.Unsafe},
		find:  find,
	}
	x.fset.AddFile("", importPos, 0)
	return x
}

// Import implements [types.Importer].
func (x *exports) Import(path string) (*types.Package, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.pkgs[path]; p != nil && p.Complete() {
		return p, nil
	}
	file := x.files[path]
	if file == "" {
		if !isStd(path) || x.find == nil {
			return nil, fmt.Errorf("the package does not import %s yet", path)
		}
		var err error
		if file, err = x.find(path); err != nil {
			return nil, err
		}
		x.files[path] = file
	}
	return x.read(path, file)
}

func (x *exports) read(path, file string) (*types.Package, error) {
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

// isStd reports whether an import path belongs to the standard library.
func isStd(path string) bool {
	return symbol.Standard(path) && path != "C" && path != ""
}
