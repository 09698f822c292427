package inplace

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/rt"
)

// The overlay: the target's file with one statement more, on the line of the opening brace, so
// that lines keep their numbers; the versions and the dispatcher beside it; and packages live and
// rt below it.
const (
	rtDir   = "/internal/beaglert"
	liveDir = "/internal/beaglelive"
)

// suffix is what the names of version i end in, as in harness programs.
func suffix(i int) string { return "__b" + strconv.Itoa(i) }

// An overlay is what the go command sees: path there -> path of the content.
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

// runtimes places packages live and rt below the target's package.
func (p *Place) runtimes(dir string) (overlay, error) {
	o := overlay{}
	sources := map[string]fs.FS{rtDir: harness.RTSource(rt.Recording), liveDir: live.Source}
	for _, below := range []string{rtDir, liveDir} {
		err := fs.WalkDir(sources[below], ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || name == "embed.go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(sources[below], name)
			if err != nil {
				return err
			}
			text = []byte(strings.ReplaceAll(string(text), strconv.Quote(ownRT),
				strconv.Quote(p.u.Target.PkgPath+rtDir)))
			return o.put(dir, filepath.Join(p.u.Target.PkgDir, filepath.FromSlash(below), name),
				harness.Modern(string(text)))
		})
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// ownRT is how package live imports package rt.
const ownRT = "github.com/beagle-go/beagle/internal/rt"

// An insertion replaces text[at:end].
type insertion struct {
	at, end int
	new     string
}

// edited is the target's file with a call of the dispatcher as the target's first statement.
func (d *dispatcher) edited() (string, error) {
	path := d.u.Target.File
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var fn *ast.FuncDecl
	line := d.fset.PositionFor(d.decl.Pos(), false).Line
	for _, x := range file.Decls {
		if f, ok := x.(*ast.FuncDecl); ok && f.Name.Name == d.decl.Name.Name &&
			fset.PositionFor(f.Pos(), false).Line == line {
			fn = f
		}
	}
	if fn == nil || fn.Body == nil {
		return "", fmt.Errorf("%s changed: %s is no longer there", path, d.u.Target.Name)
	}
	edits, names := naming(fset, fn)
	call := d.giving(d.doorCall(names))
	body := fset.PositionFor(fn.Body.Lbrace, false).Offset + 1
	edits = append(edits, insertion{body, body, " if true { " + call + " }; "})
	slices.SortFunc(edits, func(a, b insertion) int { return b.at - a.at })
	out := string(text)
	for _, e := range edits {
		out = out[:e.at] + e.new + out[e.end:]
	}
	return out, nil
}

// doorCall calls the dispatcher with the target's own parameters.
func (d *dispatcher) doorCall(names []string) string {
	_, targs := d.types()
	return "beagleDispatch" + targs + "(" + strings.Join(d.args(func(i int) string { return names[i] }), ", ") + ")"
}

// naming gives names to the parameters that have none.
func naming(fset *token.FileSet, fn *ast.FuncDecl) (edits []insertion, names []string) {
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	for _, list := range []*ast.FieldList{fn.Recv, fn.Type.Params} {
		if list == nil {
			continue
		}
		for _, f := range list.List {
			if len(f.Names) == 0 {
				n := fmt.Sprintf("beagle%d", len(names))
				edits = append(edits, insertion{offset(f.Type.Pos()), offset(f.Type.Pos()), n + " "})
				names = append(names, n)
			}
			for _, id := range f.Names {
				n := id.Name
				if n == "_" {
					n = fmt.Sprintf("beagle%d", len(names))
					edits = append(edits, insertion{offset(id.Pos()), offset(id.End()), n})
				}
				names = append(names, n)
			}
		}
	}
	return edits, names
}
