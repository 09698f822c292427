package source

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Guarded makes a version that is right under some conditions right everywhere. Where the
// conditions hold, the result runs the version; elsewhere it calls the original. The original stays
// beside the version as a function of its own, with copies of the helpers that the version changed.
// The error explains why the guarded form cannot be written.
func (w *Writer) Guarded(src string, conds []*Predicate) (string, error) {
	fast, problem := w.reader.Parse(src)
	if problem != nil {
		return "", fmt.Errorf("line %d: %s", problem.Line, problem.Message)
	}
	slow, problem := w.reader.Parse(w.target.Source)
	if problem != nil {
		return "", fmt.Errorf("the original: line %d: %s", problem.Line, problem.Message)
	}
	// Choose the declarations of the original that stand beside the version, under free names.
	g := &guardWriter{
		writer:   w,
		fast:     fast,
		slow:     slow,
		fastFile: fileOf(fast),
		slowFile: fileOf(slow),
		rename:   map[types.Object]string{},
	}
	g.imports, g.taken = localNames(fast.AST), map[string]bool{}
	for _, p := range pieces(g.fastFile) {
		for _, n := range p.names {
			g.taken[n.Name] = true
		}
	}
	if err := g.choose(); err != nil {
		return "", err
	}
	// Write the version with the branch at its top, and check that it parses as a candidate.
	text, err := g.write(conds)
	if err != nil {
		return "", err
	}
	if text, err = w.reader.Normalize(text); err != nil {
		return "", err
	}
	if _, problem := w.reader.Parse(text); problem != nil {
		return "", fmt.Errorf("the guarded form does not fit: line %d: %s", problem.Line, problem.Message)
	}
	return text, nil
}

func fileOf(f *File) *srcFile {
	return &srcFile{path: candidateName, text: f.Src, tok: f.Fset.File(f.AST.FileStart), ast: f.AST}
}

// localNames returns the imports of a file, by their names in it.
func localNames(f *ast.File) map[string]string {
	out := map[string]string{}
	for _, s := range f.Imports {
		path := importPath(s)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if s.Name != nil {
			name = s.Name.Name
		}
		out[name] = path
	}
	return out
}

type guardWriter struct {
	writer             *Writer
	fast, slow         *File
	fastFile, slowFile *srcFile
	rename             map[types.Object]string // objects of the original
	keep               []*piece                // of the original, beside the target
	name               string                  // of the original's function
	taken              map[string]bool
	imports            map[string]string // local name -> path
	added              []string          // import lines
}

// choose selects the declarations of the original that stand beside the version, and their names.
func (g *guardWriter) choose() error {
	// Both versions stand in one file, so their imports must agree.
	for name, path := range localNames(g.slow.AST) {
		if was := g.imports[name]; was != "" && was != path {
			return fmt.Errorf("%s is %s in one version and %s in the other", name, was, path)
		}
		if g.imports[name] == "" {
			g.imports[name] = path
		}
	}
	for _, s := range g.slow.AST.Imports {
		g.added = append(g.added, "import "+g.slowFile.text[g.slowFile.offset(s.Pos()):g.slowFile.offset(s.End())])
	}
	// The original gets a name of its own, and so does all of it that differs.
	g.name = g.freeName(original(g.writer.target.Name))
	theirs := map[string]string{}
	for _, p := range pieces(g.fastFile) {
		for _, key := range p.keys() {
			theirs[key] = canonical(p.standalone(g.fastFile.plain))
		}
	}
	// Sort the original's declarations: those that only it has, those that both have alike, and
	// those that differ.
	var same []*piece
	for _, p := range pieces(g.slowFile) {
		text, both := theirs[p.key()]
		switch {
		case p.kind == "import" || p.key() == g.writer.target.Name:
		case !both:
			g.keep = append(g.keep, p)
		case text == canonical(p.standalone(g.slowFile.plain)):
			same = append(same, p)
		default:
			if err := g.renamed(p); err != nil {
				return err
			}
		}
	}
	for changed := true; changed; { // a user of a changed helper changes too
		changed = false
		for i, p := range same {
			if p == nil || !g.uses(p) {
				continue
			}
			if err := g.renamed(p); err != nil {
				return err
			}
			same[i], changed = nil, true
		}
	}
	g.rename[g.slow.Info.Defs[g.slow.Func.Name]] = g.name
	return nil
}

// original returns the name of the function that keeps the original's code.
func original(target string) string {
	// A method T.M becomes tMOriginal, which is exported nowhere.
	var b strings.Builder
	for i, part := range strings.Split(target, ".") {
		r, size := utf8.DecodeRuneInString(part)
		if i == 0 {
			r = unicode.ToLower(r)
		} else {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		b.WriteString(part[size:])
	}
	return b.String() + "Original"
}

// freeName returns a name that the package does not use.
func (g *guardWriter) freeName(name string) string {
	declared := g.writer.pkg.Types.Scope()
	for g.taken[name] || g.writer.scope.declare[name] || declared.Lookup(name) != nil || g.imports[name] != "" {
		name += "_"
	}
	g.taken[name] = true
	return name
}

// renamed gives a piece of the original a new name.
func (g *guardWriter) renamed(p *piece) error {
	if p.kind == "type" || p.recv != "" {
		return fmt.Errorf("it changes the type %s or one of its methods, and one package cannot hold both forms",
			p.names[0].Name)
	}
	for _, n := range p.names {
		if obj := g.slow.Info.Defs[n]; obj != nil && n.Name != "_" {
			g.rename[obj] = g.freeName(original(n.Name))
		}
	}
	g.keep = append(g.keep, p)
	return nil
}

// uses reports whether a piece names a renamed declaration.
func (g *guardWriter) uses(p *piece) bool {
	found := false
	look := func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && g.rename[syntax.Origin(g.slow.Info.Uses[id])] != "" {
			found = true
		}
		return !found
	}
	// A part of a group is looked at alone.
	if p.spec != nil {
		ast.Inspect(p.spec, look)
	} else {
		ast.Inspect(p.decl, look)
	}
	return found
}

// write puts the file together.
func (g *guardWriter) write(conds []*Predicate) (string, error) {
	guard, err := g.guard(conds)
	if err != nil {
		return "", err
	}
	slow, err := g.slowTarget()
	if err != nil {
		return "", err
	}
	// The version's text stays, with imports in front, the guard at the start of its function, and
	// the original behind.
	src, at := g.fast.Src, g.fastFile.offset(g.fast.Func.Body.Lbrace)+1
	head := g.fastFile.offset(g.fast.AST.Name.End())
	out := src[:head] + "\n\n" + strings.Join(g.added, "\n") + "\n" + src[head:at] + "\n" + guard +
		src[at:] + "\n" + slow
	for _, p := range g.keep {
		out += "\n" + p.standalone(g.render) + "\n"
	}
	return out, nil
}

// render returns the original's text with the new names.
func (g *guardWriter) render(start, end int) string {
	return syntax.Apply(g.slowFile.text[start:end], g.edits(start, end))
}

// edits returns the edits that rename the original's declarations in a part of its file. A method's
// name stays, since its receiver is renamed.
func (g *guardWriter) edits(start, end int) []syntax.Edit {
	var edits []syntax.Edit
	// Only identifiers in this part of the file are edited.
	ast.Inspect(g.slow.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		at := g.slowFile.offset(id.Pos())
		obj := syntax.Origin(objectOf(g.slow.Info, id))
		if name := g.rename[obj]; name != "" && at >= start && at < end &&
			// The method itself becomes a function with the new name, written by its head.
			(g.slow.Func.Recv == nil || obj != g.slow.Info.Defs[g.slow.Func.Name]) {
			edits = append(edits, syntax.Edit{Start: at - start, End: at - start + len(id.Name), New: name})
		}
		return true
	})
	return edits
}

// slowTarget writes the original's function under its new name. A method becomes a function of its
// receiver, since a version may add no methods.
func (g *guardWriter) slowTarget() (string, error) {
	f, off := g.slow.Func, g.slowFile.offset
	comment := fmt.Sprintf("// %s is the original of %s, for inputs outside of its fast way.\n", g.name, f.Name.Name)
	if f.Recv == nil {
		return comment + g.render(off(f.Pos()), off(f.End())) + "\n", nil
	}
	recv := f.Recv.List[0]
	// The receiver's type parameters would have to be declared by the function.
	if g.slow.Info.Defs[f.Name].(*types.Func).Signature().RecvTypeParams().Len() > 0 {
		return "", errors.New("a method of a generic type has no guarded form")
	}
	// Go has parameters with names or without, but not both.
	if params := f.Type.Params.List; len(params) > 0 && (len(params[0].Names) == 0) != (len(recv.Names) == 0) {
		return "", errors.New("the receiver and the parameters must all have names, or none of them")
	}
	first := g.slowFile.text[off(recv.Pos()):off(recv.End())]
	if len(f.Type.Params.List) > 0 {
		first += ", "
	}
	params := off(f.Type.Params.Opening) + 1
	return comment + "func " + g.name + "(" + first + g.render(params, off(f.End())) + "\n", nil
}

// guard writes the branch at the top of the version.
func (g *guardWriter) guard(conds []*Predicate) (string, error) {
	// Conditions are written with the version's own names of the parameters.
	params, err := g.params()
	if err != nil {
		return "", err
	}
	var parts []string
	for _, p := range conds {
		parts = append(parts, p.Render(params, g.qualify))
	}
	// The call passes everything on, and returns what it gives.
	args := make([]string, len(params))
	for i, p := range params {
		args[i] = p.Name
	}
	list := strings.Join(args, ", ")
	if g.writer.target.Variadic {
		list += "..."
	}
	call := g.name + g.typeArgs() + "(" + list + ")"
	if len(g.writer.target.Results) > 0 {
		call = "return " + call
	} else {
		call += "\nreturn"
	}
	return fmt.Sprintf("if !(%s) {\n%s\n}\n", And(parts...), call), nil
}

// params returns the version's own names of the receiver and the parameters.
func (g *guardWriter) params() ([]beagle.Param, error) {
	var out []beagle.Param
	add := func(list *ast.FieldList) error {
		if list == nil {
			return nil
		}
		for _, f := range list.List {
			for _, n := range f.Names {
				if n.Name == "_" {
					return errors.New("a parameter without a name cannot be passed to the original")
				}
				out = append(out, beagle.Param{Name: n.Name})
			}
			if len(f.Names) == 0 {
				return errors.New("a parameter without a name cannot be passed to the original")
			}
		}
		return nil
	}
	err := errors.Join(add(g.fast.Func.Recv), add(g.fast.Func.Type.Params))
	// A version may call its parameters otherwise, but must have them all.
	if err == nil && len(out) != len(g.writer.target.Params) {
		err = errors.New("the parameters differ from those of the original")
	}
	return out, err
}

// typeArgs names the version's own type parameters.
func (g *guardWriter) typeArgs() string {
	list := g.fast.Func.Type.TypeParams
	if list == nil {
		return ""
	}
	var names []string
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// qualify returns the name of a package in the version's file.
func (g *guardWriter) qualify(path, name string) string {
	var have []string
	// Several imports of one package are legal; the choice must be the same each time.
	for local, p := range g.imports {
		if p == path {
			have = append(have, local)
		}
	}
	if len(have) > 0 {
		inorder.Sort(have)
		return have[0]
	}
	g.imports[name] = path
	g.added = append(g.added, fmt.Sprintf("import %q", path))
	return name
}
