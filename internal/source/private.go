package source

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Copies gives candidates private copies of declarations beside their scope. Candidates may change
// the copies.
type Copies struct {
	// Share returns the share of the target's time that a profile gives a function of the package.
	// [Copies.Widen] keeps room for those that take time. nil knows of none.
	Share func(key string) float64

	target *beagle.Target
	opts   *Options
	pkg    *Package
	scope  *Scope
	reader *Reader

	abroad     sync.Mutex
	foreigners map[string]*foreign // by path and name; nil for one that cannot be copied

	copying   sync.Once
	copied    map[string]*piece // by the names of their private copies, see privates
	copyNames map[*piece]string // the other way round
}

// Limits of the copies that [Copies.Widen] adds.
const (
	privateLines = 120 // of one function, unless it takes much of the time
	widenedLines = 400 // of all that are no longer
	widenedDepth = 4   // calls from the candidate's own code

	// lines of a longer function that takes all of the time, and of all longer ones; one with a
	// quarter of the time may have a quarter of them
	longLines = 600
)

// IdleShare is the share of the time below which a function takes none that is worth a change.
const IdleShare = 0.01

// Widen adds private copies to a candidate, and returns their names. It copies the functions and
// methods of the package that the candidate reaches, and redirects the candidate's calls to the
// copies. It also copies lists, maps and patterns of the package that no code changes. So a rewrite
// can change a helper for the target alone, and other callers keep the original. [Copies.Narrow]
// takes back the copies that no rewrite changed.
func (cp *Copies) Widen(src string) (widened string, copies []string) {
	return cp.widen(src, limits{lines: widenedLines, long: longLines, depth: widenedDepth, share: cp.Share})
}

// WidenWhole is [Copies.Widen] without bounds on all copies together. Each step of a search widens
// its parent's narrowed text anew, so WidenWhole gives every copy that a step may name.
func (cp *Copies) WidenWhole(src string) (widened string, copies []string) {
	return cp.widen(src, limits{lines: math.MaxInt, long: math.MaxInt, depth: math.MaxInt, share: cp.Share})
}

// limits bounds the copies of one candidate.
type limits struct {
	lines, depth int
	long         int                      // lines of functions that are longer than privateLines
	share        func(key string) float64 // of the time that a function takes; may be nil
	only         map[*piece]bool          // functions that get copies, and nothing else does; nil for all
}

// widen adds private copies of functions that the candidate calls to its file, within limits, and
// returns their names. The text stays as it is if that makes no candidate.
func (cp *Copies) widen(src string, most limits) (widened string, copies []string) {
	f, problem := cp.reader.Parse(src)
	if problem != nil || cp.scope.group != nil && most.only == nil { // a group holds what changes together already
		return src, nil
	}
	w := &widener{copies: cp, file: f, most: most, names: map[string]string{}, taken: map[string]bool{},
		takenVars: map[string]bool{}}
	// Names that the candidate declares already.
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				w.taken[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					for _, id := range s.Names {
						w.takenVars[id.Name] = true
					}
				}
			}
		}
	}
	// Redirect the calls of the candidate, and then those of each copy.
	w.paths, w.locals = importedNames(cp.pkg, f.AST), declaredInside(f.Info, f.Types)
	edits := w.calls(f.AST, f.Info, f.Fset.File(f.AST.FileStart), 0)
	for len(w.next) > 0 {
		c := w.next[0]
		w.next = w.next[1:]
		w.write(c)
	}
	if len(w.added) == 0 {
		return src, nil
	}
	// If the whole is no candidate, the text stays as it was.
	text, err := cp.reader.Normalize(syntax.Apply(src, edits) + w.text.String())
	if err != nil {
		return src, nil
	}
	if _, problem := cp.reader.Parse(text); problem != nil {
		return src, nil
	}
	return text, w.added
}

// A widener adds copies to one candidate.
type widener struct {
	copies *Copies
	file   *File
	most   limits
	names  map[string]string // function of the package -> its copy, "" for none
	taken  map[string]bool   // functions that the candidate declares

	takenVars map[string]bool // variables that the candidate declares
	locals    map[string]bool // names that the candidate's functions declare inside

	paths map[string]string // of imports, by the name in the candidate
	next  []pendingCopy
	lines int // of copies, except of long functions
	long  int // of copies of long functions
	added []string
	text  strings.Builder
}

// A pendingCopy is a function that the widener has yet to copy.
type pendingCopy struct {
	piece *piece
	name  string
	depth int
}

// importedNames returns the paths of a file's imports, by their names in the file.
func importedNames(pkg *Package, f *ast.File) map[string]string {
	paths := map[string]string{}
	for _, s := range f.Imports {
		path := strings.Trim(s.Path.Value, `"`)
		name, _ := pkg.packageName(path)
		if s.Name != nil {
			name = s.Name.Name
		}
		paths[name] = path
	}
	return paths
}

// declaredInside returns the names that functions declare inside. Such a local could hide a copy of
// the same name from its caller.
func declaredInside(info *types.Info, pkg *types.Package) map[string]bool {
	out := map[string]bool{}
	for id, obj := range info.Defs {
		if obj != nil && obj.Parent() != nil && obj.Parent() != pkg.Scope() {
			out[id.Name] = true
		}
	}
	return out
}

// localNames returns the names that the functions of the package declare inside.
func (pkg *Package) localNames() map[string]bool {
	pkg.naming.Do(func() { pkg.local = declaredInside(pkg.info, pkg.Types) })
	return pkg.local
}

// calls returns the edits that make code call copies. depth counts the calls between the
// candidate's own code and this code.
func (w *widener) calls(n ast.Node, info *types.Info, file *token.File, depth int) []syntax.Edit {
	var edits []syntax.Edit
	ast.Inspect(n, func(n ast.Node) bool {
		// A variable may get a copy as well.
		if id, ok := n.(*ast.Ident); ok {
			if name := w.variable(id, info); name != "" {
				edits = append(edits, syntax.Edit{Start: file.Offset(id.Pos()), End: file.Offset(id.End()), New: name})
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		// A function of another package, and one of this package, are redirected to their copies.
		if sel, name := w.abroadCall(call, info); name != "" {
			edits = append(edits, syntax.Edit{Start: file.Offset(sel.Pos()), End: file.Offset(sel.End()), New: name})
			return true
		}
		if id, sel := calledName(call); id != nil {
			if fn, ok := info.Uses[id].(*types.Func); ok && plainCall(call, sel, info) {
				if name := w.copyOf(fn.Origin(), depth); name != "" {
					edits = append(edits, redirect(call, id, sel, name, info, file)...)
				}
			}
		}
		return true
	})
	// Edits must be in the order of the text.
	inorder.By(edits, func(a, b syntax.Edit) int { return cmp.Compare(a.Start, b.Start) })
	return edits
}

// calledName returns the identifier of a called function, and the selector of a method.
func calledName(call *ast.CallExpr) (*ast.Ident, *ast.SelectorExpr) {
	switch f := ast.Unparen(call.Fun).(type) {
	// A name in parentheses or with type arguments is the same function.
	case *ast.Ident:
		return f, nil
	case *ast.IndexExpr:
		id, _ := f.X.(*ast.Ident)
		return id, nil
	case *ast.SelectorExpr:
		// A method in parentheses is left as it is.
		if f != call.Fun {
			return nil, nil
		}
		return f.Sel, f
	}
	return nil, nil
}

// redirect makes a call use a copy. A method's receiver becomes the first argument.
func redirect(
	call *ast.CallExpr, id *ast.Ident, sel *ast.SelectorExpr, name string, info *types.Info, file *token.File,
) []syntax.Edit {
	// A function keeps its arguments.
	if sel == nil {
		return []syntax.Edit{{Start: file.Offset(id.Pos()), End: file.Offset(id.End()), New: name}}
	}
	// The receiver becomes an argument, by address or by value as the method wants it.
	s := info.Selections[sel]
	_, wants := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	has := syntax.Is[*types.Pointer](s.Recv())
	before, comma := "", ", "
	switch {
	case wants && !has:
		before = "&"
	case !wants && has:
		before = "*"
	}
	if len(call.Args) == 0 {
		comma = ""
	}
	return []syntax.Edit{
		{Start: file.Offset(call.Pos()), End: file.Offset(call.Pos()), New: name + "(" + before},
		{Start: file.Offset(sel.X.End()), End: file.Offset(call.Lparen) + 1, New: comma},
	}
}

// plainCall reports whether a call names a function, or a method that its receiver's type declares,
// so that the receiver can become an argument.
func plainCall(call *ast.CallExpr, sel *ast.SelectorExpr, info *types.Info) bool {
	if sel == nil {
		return true
	}
	s := info.Selections[sel]
	return s != nil && s.Kind() == types.MethodVal && len(s.Index()) == 1 && !manyValued(call, info)
}

// manyValued reports whether the only argument of a call is a call with several results.
func manyValued(call *ast.CallExpr, info *types.Info) bool {
	if len(call.Args) != 1 {
		return false
	}
	t, ok := info.TypeOf(call.Args[0]).(*types.Tuple)
	return ok && t.Len() != 1
}

// copyOf returns the name of a function's private copy, or "" if the function gets none.
func (w *widener) copyOf(fn *types.Func, depth int) string {
	scope, pkg := w.copies.scope, w.copies.pkg
	// Only functions of the package itself are copied here.
	if fn.Pkg() == nil || fn.Pkg().Path() != pkg.Types.Path() {
		return ""
	}
	key := syntax.FuncName(fn)
	if name, ok := w.names[key]; ok {
		return name
	}
	// Note the refusal in advance: a recursive function would ask again.
	w.names[key] = ""
	p := pkg.function(key)
	if p == nil || depth >= w.most.depth || slices.Contains(scope.pieces, p) || w.most.only != nil && !w.most.only[p] {
		return ""
	}
	// The name must be free, or be that of a copy from an earlier step.
	name := w.copies.privateName(p)
	if name == "" || w.locals[name] {
		return ""
	}
	if w.taken[name] { // an earlier step changed it
		w.names[key] = name
		return name
	}
	lines := strings.Count(p.file.text[p.start:p.end], "\n") + 1
	if scope.declare[name] || !w.fits(key, lines) || w.clash(p) {
		return ""
	}
	// Take it. Its own calls are looked at later, one level deeper.
	if lines > privateLines {
		w.long += lines
	} else {
		w.lines += lines
	}
	w.names[key] = name
	w.added = append(w.added, name)
	w.next = append(w.next, pendingCopy{p, name, depth + 1})
	return name
}

// fits reports whether there is room for the copy of a function. The lines of all copies are
// bounded, more tightly for those that take no time. A long function must take much of the time.
func (w *widener) fits(key string, lines int) bool {
	share, known := 0.0, w.most.share != nil
	if known {
		share = w.most.share(key)
	}
	switch {
	case lines <= privateLines && known && share < IdleShare:
		return w.lines+lines <= w.most.lines/2 // the rest is for what takes time
	case lines <= privateLines:
		return w.lines+lines <= w.most.lines
	case w.most.only == nil && float64(lines) > share*longLines:
		return false
	}
	return w.long+lines <= w.most.long
}

// clash reports whether the imports of a function clash with those of the candidate's file. If they
// do not, the file takes them over.
func (w *widener) clash(p *piece) bool {
	imports := w.copies.pkg.graph.uses[p].imports
	for name, path := range imports {
		was, ok := w.paths[name]
		// A name that the file has must mean the same import there.
		if !ok { // the candidate's file will get the import that the package knows by this name
			spec, _ := w.copies.reader.imported(name)
			was = spec.path
		}
		if was != path || strings.HasPrefix(name, ".") {
			return true
		}
	}
	// Nothing is noted before all names are known to fit.
	for name, path := range imports {
		w.paths[name] = path
	}
	return false
}

// write writes a copy, and redirects the calls in it.
func (w *widener) write(c pendingCopy) {
	fn, f := c.piece.decl.(*ast.FuncDecl), c.piece.file
	edits := w.calls(fn.Body, w.copies.pkg.info, f.tok, c.depth)
	body := f.offset(fn.Body.Lbrace)
	for i := range edits {
		edits[i].Start -= body
		edits[i].End -= body
	}
	text := syntax.Apply(f.text[body:f.offset(fn.Body.End())], edits)
	fmt.Fprintf(&w.text, "\n// %s is %s as %s needs it.\n%s %s\n", c.name, c.piece.key(), w.copies.target.Name,
		w.copies.privateHead(c.piece, c.name), text)
}

// privateHead returns the head of a copy, with the receiver as its first parameter.
func (cp *Copies) privateHead(p *piece, name string) string {
	fn, f := p.decl.(*ast.FuncDecl), p.file
	rest := f.text[f.offset(fn.Name.End()):f.offset(fn.Body.Lbrace)]
	if fn.Recv == nil {
		return "func " + name + strings.TrimRight(rest, " ")
	}
	recv := fn.Recv.List[0]
	first := f.text[f.offset(recv.Pos()):f.offset(recv.End())]
	// Go has parameters with names or without, so the receiver gets a blank one.
	if len(recv.Names) == 0 && len(fn.Type.Params.List) > 0 {
		first = "_ " + first
	}
	if len(fn.Type.Params.List) > 0 {
		first += ", "
	}
	open := f.offset(fn.Type.Params.Opening) + 1
	return "func " + name + "(" + first + strings.TrimRight(f.text[open:f.offset(fn.Body.Lbrace)], " ")
}

// function returns the piece of a function by its key, or nil.
func (pkg *Package) function(key string) *piece {
	for _, p := range pkg.graph.all {
		if p.kind == "func" && p.key() == key {
			return p
		}
	}
	return nil
}

// Original returns the user's file with a function of the package, by its key, such as T.Method. It
// returns nil if the package declares no such function with a body.
func (pkg *Package) Original(key string) *File {
	p := pkg.function(key)
	if p == nil {
		return nil
	}
	fn, ok := p.decl.(*ast.FuncDecl)
	if !ok || fn.Body == nil || pkg.graph.uses[p].cgo {
		return nil
	}
	return &File{Src: p.file.text, Fset: pkg.fset, AST: p.file.ast, Types: pkg.Types, Info: pkg.info, Func: fn}
}

// copiable reports whether a copy of a function behaves as the function does.
func (cp *Copies) copiable(p *piece) bool {
	fn := p.decl.(*ast.FuncDecl)
	// A file for one system, with cgo, assembly or directives is more than its text.
	here := cp.scope.target != nil && p.file == cp.scope.target.file
	if p == cp.scope.target || !here && constrained(p.file.path, p.file.text) {
		return false
	}
	if fn.Body == nil || cp.pkg.graph.uses[p].cgo || filepath.Dir(p.file.path) != cp.target.PkgDir ||
		strings.Contains(p.doc(), "//go:") || strings.Contains(p.doc(), "//export ") {
		return false
	}
	// Methods need a receiver that can be written as a parameter, and parameters that have names.
	if fn.Recv == nil {
		return fn.Name.Name != "init" && fn.Name.Name != "_"
	}
	recv := fn.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	if _, plain := recv.(*ast.Ident); !plain {
		return false // of a generic type
	}
	for _, field := range fn.Type.Params.List {
		if len(field.Names) == 0 {
			return false
		}
	}
	return true
}

// privates returns the functions that can be copied, by the names of their copies.
func (cp *Copies) privates() map[string]*piece {
	// This is the same for all candidates, and asked for by each.
	cp.copying.Do(func() {
		cp.copied, cp.copyNames = map[string]*piece{}, map[*piece]string{}
		// Append and append would share a name. The unexported one gets it, since it does the work.
		for _, exported := range []bool{false, true} {
			for _, p := range cp.pkg.graph.all {
				if p.kind != "func" || p.names[0].IsExported() != exported || !cp.copiable(p) {
					continue
				}
				name := p.names[0].Name
				if p.recv != "" {
					name = p.recv + Exported(name)
				}
				name = cp.freeName(lowered(name), func(name string) bool { return cp.copied[name] != nil })
				cp.copied[name], cp.copyNames[p] = p, name
			}
		}
	})
	return cp.copied
}

// freeName returns the name for the copy of a declaration. A number tells it from names that other
// copies have taken, or that the package uses.
func (cp *Copies) freeName(name string, taken func(string) bool) string {
	target := cp.target.Name[strings.LastIndexByte(cp.target.Name, '.')+1:]
	for n, number := 2, ""; ; n++ {
		free := name + number + "For" + Exported(target)
		if !taken(free) && cp.pkg.Types.Scope().Lookup(free) == nil && !cp.pkg.localNames()[free] {
			return free
		}
		number = strconv.Itoa(n)
	}
}

// CopyOf returns the key of the function, such as T.Method, whose private copy has the name; "" for
// none. The key of a function of another package begins with the package's path and a dot.
func (cp *Copies) CopyOf(name string) string {
	if p := cp.privates()[name]; p != nil {
		return p.key()
	}
	cp.abroad.Lock()
	defer cp.abroad.Unlock()
	// Names of copies from elsewhere are known once one has been fetched.
	for _, f := range cp.foreigners {
		if f == nil {
			continue
		}
		for _, d := range f.decls {
			if d.fn && d.names[0] == name {
				return d.key
			}
		}
	}
	return ""
}

// constrained reports whether a file is built on some systems only.
func constrained(path, text string) bool {
	head, _, _ := strings.Cut(text, "\npackage ")
	if strings.HasPrefix(head, "//go:build") || strings.Contains(head, "\n//go:build") {
		return true
	}
	elsewhere := build.Default
	elsewhere.GOOS, elsewhere.GOARCH = "plan9", "mips64" // no two of a kind that code is written for
	elsewhere.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	ok, err := elsewhere.MatchFile(filepath.Split(path))
	return err == nil && !ok
}

// privateName returns the name of a function's copy, or "" if it cannot be copied.
func (cp *Copies) privateName(p *piece) string {
	cp.privates()
	return cp.copyNames[p]
}

// lowered makes the first word of a name lower: UUIDSet becomes uuidSet.
func lowered(name string) string {
	r := []rune(name)
	for i := range r {
		if !unicode.IsUpper(r[i]) || i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}
