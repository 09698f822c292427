package inplace

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// The overlay: the target's file with one statement more, on the line of the opening brace, so
// that lines keep their numbers; the versions and the dispatcher beside it; and packages live and
// rt below a root that the target's package can import from.
const (
	rtDir   = "/internal/beaglert"
	liveDir = "/internal/beaglelive"
)

// livePath returns the import path of package live in the module of a target.
func livePath(u *source.Unit) string {
	_, path := runtimeRoot(u)
	return path + liveDir
}

// runtimeRoot returns the directory below which packages live and rt lie, and its import path. It
// is the module's root, where the tests of all its packages can import them: a benchmark of another
// package tells package live of its loop, too. Where the module's own packages cannot lie in
// internal there, it is the target's package, and the tests of packages beside it do not build.
func runtimeRoot(u *source.Unit) (dir, path string) {
	t := &u.Target
	internal := filepath.Join(t.Dir, "internal")
	nested, err := os.Stat(filepath.Join(internal, "go.mod"))
	if err == nil && !nested.IsDir() {
		return t.PkgDir, t.PkgPath
	}
	if info, err := os.Stat(internal); err == nil && !info.IsDir() {
		return t.PkgDir, t.PkgPath
	}
	return t.Dir, t.Module
}

// suffix ends the names of version i, as in harness programs.
func suffix(i int) string { return "__b" + strconv.Itoa(i) }

// An overlay replaces files for the go command: path there -> path of the content.
type overlay map[string]string

// put writes a text to a file of its own and places it.
func (o overlay) put(dir, path, text string) error {
	file := filepath.Join(dir, fmt.Sprintf("%d-%s", len(o), filepath.Base(path)))
	o[path] = file
	return os.WriteFile(file, []byte(text), 0o644)
}

func (o overlay) write(path string) error {
	text, err := json.Marshal(struct{ Replace overlay }{o})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// runtimes places packages live and rt.
func (p *Place) runtimes(dir string) (overlay, error) {
	o := overlay{}
	root, path := runtimeRoot(p.u)
	place := func(below string, source map[string]string) error {
		for _, name := range inorder.Keys(source) {
			text := strings.ReplaceAll(source[name], strconv.Quote(ownRT), strconv.Quote(path+rtDir))
			err := o.put(dir, filepath.Join(root, filepath.FromSlash(below), name), harness.Modern(text))
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := place(rtDir, rt.Recording.Files()); err != nil {
		return nil, err
	}
	return o, place(liveDir, live.Files())
}

// ownRT is package live's import of package rt.
const ownRT = "github.com/beagle-go/beagle/internal/rt"

// edited returns the target's file with a call of the dispatcher as the target's first statement.
func (d *dispatcher) edited() (string, error) {
	return d.u.Writer.Entered(func(_ *ast.FuncDecl, names []string) string {
		return "if true { " + d.returnCall(d.doorCall(names)) + " }; "
	})
}

// doorCall calls the dispatcher with the target's own parameters.
func (d *dispatcher) doorCall(names []string) string {
	_, targs := d.types()
	return "beagleDispatch" + targs + "(" + strings.Join(d.args(func(i int) string { return names[i] }), ", ") + ")"
}
