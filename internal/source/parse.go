package source

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A File is a parsed candidate. Many callers share it, so none may change it.
type File struct {
	Src   string
	Fset  *token.FileSet
	AST   *ast.File
	Types *types.Package // the whole package, with the candidate's declarations
	Info  *types.Info    // for AST; also holds the signatures of the rest
	Func  *ast.FuncDecl  // the target
}

// A Problem says why a text is not a candidate.
type Problem struct {
	Stage   string // "parse", "types" or "scope"
	Message string
	Line    int // in the candidate; 0 when it has no place
}

const candidateName = "candidate.go"

// A parsed text holds types for its whole package. maxParsed bounds their number: when it is
// reached, all are forgotten, so that a long run does not grow with its candidates. parsedBytes
// bounds their memory: a package with 5 MB of text takes 25 MB for each.
const (
	maxParsed    = 256
	parsedBytes  = 256 << 20
	bytesPerByte = 5
)

// roomFor returns how many parsed texts to keep of a package of this size.
func roomFor(text int) int {
	return min(max(parsedBytes/(bytesPerByte*(text+1)), 8), maxParsed)
}

// Room returns how many parsed texts a process should keep at most.
func (r *Reader) Room() int { return r.room }

// A Reader reads texts as candidates.
type Reader struct {
	target *beagle.Target
	pkg    *Package
	scope  *Scope
	room   int // see roomFor

	mu     sync.Mutex
	parsed map[string]parseResult // by text
	decls  map[string]string      // declarations as gofmt prints them, by text: see printed
	latest *types.Info            // of the last text that is a candidate
}

func newReader(of *beagle.Target, scope *Scope) *Reader {
	text := 0
	for _, f := range scope.pkg.files {
		text += len(f.text)
	}
	return &Reader{target: of, pkg: scope.pkg, scope: scope, room: roomFor(text)}
}

// A parseResult holds the file of a text, or the problem with it.
type parseResult struct {
	file    *File
	problem *Problem
}

// Parse reads a candidate file and type-checks it together with the rest of the package. It
// remembers recent results, since every stage of a candidate asks for them.
func (r *Reader) Parse(src string) (*File, *Problem) {
	r.mu.Lock()
	// Parsing runs without the lock: two candidates are parsed at the same time.
	p, ok := r.parsed[src]
	like := r.latest
	r.mu.Unlock()
	if ok {
		return p.file, p.problem
	}
	p.file, p.problem = r.parse(src, like)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.file != nil {
		r.latest = p.file.Info
	}
	// When it is full, all are dropped: what is asked for together comes together.
	if r.parsed == nil || len(r.parsed) >= r.room {
		r.parsed = map[string]parseResult{}
	}
	r.parsed[src] = p
	return p.file, p.problem
}

// parse parses a candidate, and checks its scope, its size, its types and its signature. Each check
// relies on those before. like is what the type checker said of a similar text, or nil.
func (r *Reader) parse(src string, like *types.Info) (*File, *Problem) {
	fset := token.NewFileSet()
	// Positions of the rest must be known, for messages to name them.
	for _, f := range r.pkg.files {
		fset.AddExistingFiles(f.tok)
	}
	file, err := parser.ParseFile(fset, candidateName, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, parseProblem(err)
	}
	f := &File{Src: src, Fset: fset, AST: file, Info: newInfo(like)}
	if p := r.checkScope(f); p != nil {
		return nil, p
	}
	if p := checkSize(f); p != nil {
		return nil, p
	}
	if p := r.checkTypes(f); p != nil {
		return nil, p
	}
	if p := r.checkSignature(f); p != nil {
		return nil, p
	}
	return f, nil
}

func parseProblem(err error) *Problem {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return &Problem{"parse", list[0].Msg, list[0].Pos.Line}
	}
	return &Problem{"parse", err.Error(), 0}
}

func (f *File) problem(stage string, at token.Pos, format string, args ...any) *Problem {
	return &Problem{stage, fmt.Sprintf(format, args...), f.line(at)}
}

func (f *File) line(at token.Pos) int { return f.Fset.PositionFor(at, false).Line }

// checkTypes type-checks the candidate with the rest. Errors elsewhere than in
// the candidate come from the missing bodies and mean nothing.
func (r *Reader) checkTypes(f *File) *Problem {
	var first *Problem
	in := func(p token.Pos) bool { return f.AST.FileStart <= p && p <= f.AST.FileEnd }
	conf := r.pkg.config(func(err error) {
		var te types.Error
		// The first error is the cause, and others often follow from it.
		if first == nil && errors.As(err, &te) && in(te.Pos) {
			first = f.problem("types", te.Pos, "%s", te.Msg)
		}
		if first == nil && te.Fset != nil {
			first = r.checkRest(f, te)
		}
	})
	f.Types, _ = conf.Check(r.target.PkgPath, f.Fset, append([]*ast.File{f.AST}, r.scope.rest...), f.Info)
	return first
}

// checkScope checks a candidate's declarations and imports.
func (r *Reader) checkScope(f *File) *Problem {
	// The candidate must be a file of the target's package, with imports that it may have.
	if f.AST.Name.Name != r.target.PkgName {
		return f.problem("scope", f.AST.Name.Pos(), "the package clause says %s, the target's package is %s",
			f.AST.Name.Name, r.target.PkgName)
	}
	for _, s := range f.AST.Imports {
		if p := r.checkImport(f, s); p != nil {
			return p
		}
	}
	// It must declare the target, or what others use of a group.
	if r.scope.group != nil {
		if key := r.scope.missingDeclarations(f.AST); key != "" {
			return &Problem{"scope",
				fmt.Sprintf("the file does not declare %s, which others use: it must stay", key), 0}
		}
	} else if others, ok := r.declaresTarget(f); !ok {
		return &Problem{"scope", fmt.Sprintf("the file does not declare %s%s", r.target.Name, others), 0}
	}
	// It may declare new functions and types, and methods of its own types.
	own := map[string]bool{} // types that the candidate declares
	for _, d := range f.AST.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, s := range g.Specs {
				own[s.(*ast.TypeSpec).Name.Name] = true
			}
		}
	}
	for _, d := range f.AST.Decls {
		if p := r.checkDecl(f, d, own); p != nil {
			return p
		}
	}
	return nil
}

// declaresTarget reports whether the file declares the target. If not, it names the declarations of
// the file.
func (r *Reader) declaresTarget(f *File) (others string, ok bool) {
	var names []string
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			name := syntax.DeclName(fn)
			if name == r.target.Name {
				return "", true
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return ", only " + strings.Join(names[:min(3, len(names))], ", "), false
}

// checkImport refuses imports that could do anything at the start of the program, or that the
// module does not have.
func (r *Reader) checkImport(f *File, s *ast.ImportSpec) *Problem {
	path, _ := strconv.Unquote(s.Path.Value)
	switch {
	case path == "C":
		return f.problem("scope", s.Pos(), "cgo is not possible in a candidate")
	case s.Name != nil && s.Name.Name == "." && !strings.Contains(r.target.Source, ". "+s.Path.Value):
		return f.problem("scope", s.Pos(), "dot import of %s, which the original does not have", path)
	case path == "unsafe" || r.pkg.MayImport(path):
		return nil
	// A candidate may use the whole standard library except internal packages.
	case isStd(path) && !strings.HasPrefix(path, "internal/") && !strings.Contains(path, "/internal/"):
		if _, err := r.pkg.exports.Import(path); err == nil {
			return nil
		}
	}
	return f.problem("scope", s.Pos(),
		"import of %s: a candidate may import the standard library and what its package imports already", path)
}

// checkDecl checks the names of a declaration, or a function.
func (r *Reader) checkDecl(f *File, d ast.Decl, own map[string]bool) *Problem {
	if fn, ok := d.(*ast.FuncDecl); ok {
		return r.checkFunc(f, fn, own)
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		var names []*ast.Ident
		// Types and values are both declared by name, and both can hide what others use.
		switch s := s.(type) {
		case *ast.TypeSpec:
			names = []*ast.Ident{s.Name}
		case *ast.ValueSpec:
			names = s.Names
		}
		for _, n := range names {
			if p := r.checkName(f, n); p != nil {
				return p
			}
		}
	}
	return nil
}

// checkFunc checks a function: the target, a member of the scope, a method of an own type or a new
// function.
func (r *Reader) checkFunc(f *File, fn *ast.FuncDecl, own map[string]bool) *Problem {
	name, recv := fn.Name.Name, syntax.Receiver(fn)
	key := name
	if recv != "" {
		key = recv + "." + name
	}
	switch {
	case key == r.scope.target.key() && f.Func != nil:
		return f.problem("scope", fn.Pos(), "%s is declared twice", key)
	case key == r.scope.target.key() && fn.Body == nil:
		return f.problem("scope", fn.Pos(), "%s has no body", key)
	// Note the target: it must be there once, with a body.
	case key == r.scope.target.key():
		f.Func = fn
		return nil
	// Methods of other types may only be those that belong to the scope.
	case r.scope.memberOf(key) && fn.Body != nil:
		return nil
	case recv != "" && !own[recv] && recv == r.scope.target.recv && fn.Body != nil:
		return r.checkMethod(f, fn)
	case recv != "" && r.scope.group != nil && r.scope.group.types[recv] != nil && r.pkg.named(name):
		return r.checkMethod(f, fn)
	case recv != "" && !own[recv]:
		return f.problem("scope", fn.Pos(), "method %s: a candidate may not change the methods of %s; write a function",
			key, recv)
	case recv != "":
		return nil
	case fn.Body == nil:
		return f.problem("scope", fn.Pos(), "%s has no body", key)
	}
	return r.checkName(f, fn.Name)
}

// checkMethod allows new methods of the target's own type. Nothing else may ask
// for their names: an interface of the package could mean such a method.
func (r *Reader) checkMethod(f *File, fn *ast.FuncDecl) *Problem {
	name := fn.Name.Name
	switch {
	case fn.Name.IsExported():
		return f.problem("scope", fn.Pos(), "method %s.%s is exported: a candidate may not widen the package's API",
			syntax.Receiver(fn), name)
	case r.pkg.named(name):
		return f.problem("scope", fn.Pos(),
			"method %s.%s: the package has a field or a method of this name; take another", syntax.Receiver(fn), name)
	}
	return nil
}

// named reports whether some type of the package has a field or a method of
// this name.
func (pkg *Package) named(name string) bool {
	for _, obj := range pkg.info.Defs {
		// A field or a method may be meant by a name behind a dot.
		switch o := obj.(type) {
		case *types.Var:
			if o.IsField() && o.Name() == name {
				return true
			}
		case *types.Func:
			if o.Signature().Recv() != nil && o.Name() == name {
				return true
			}
		}
	}
	return false
}

// checkName refuses names that would change the rest of the package or its API.
func (r *Reader) checkName(f *File, n *ast.Ident) *Problem {
	// Each case would change something for code that the candidate does not declare.
	switch {
	case n.Name == "init":
		return f.problem("scope", n.Pos(), "an init function would run in every program that imports the package")
	case n.Name == "_":
		return f.problem("scope", n.Pos(), "a blank declaration at package level does nothing for the target")
	case r.scope.declare[n.Name]:
		return f.problem("scope", n.Pos(),
			"%s is declared by the rest of the package; it is not only the target's to change", n.Name)
	case types.Universe.Lookup(n.Name) != nil && r.pkg.Types.Scope().Lookup(n.Name) == nil:
		return f.problem("scope", n.Pos(),
			"%s is predeclared: the rest of the package would get this one instead", n.Name)
	case n.IsExported() && n.Name != r.target.Name && (r.scope.group == nil || !r.scope.group.held[n.Name]):
		return f.problem("scope", n.Pos(), "%s is exported: a candidate may not widen the package's API", n.Name)
	}
	return nil
}

// checkSignature compares the target's declaration with the original.
func (r *Reader) checkSignature(f *File) *Problem {
	if r.scope.group != nil {
		return r.checkGroup(f)
	}
	was := signatureKey(r.pkg.info.Defs[r.scope.target.names[0]])
	obj := f.Info.Defs[f.Func.Name]
	if now := signatureKey(obj); now != was {
		return f.problem("scope", f.Func.Pos(), "the signature of %s changed: %s, was %s", r.target.Name, now, was)
	}
	return nil
}

// signatureKey writes a signature without the names of parameters: packages
// of different type checks do not share types, so that their texts are
// compared.
func signatureKey(obj types.Object) string {
	fn, ok := obj.(*types.Func)
	if !ok {
		return ""
	}
	recv, qualify := "", qualifyOthers(fn.Pkg())
	if r := fn.Signature().Recv(); r != nil {
		recv = " (" + types.TypeString(r.Type(), qualify) + ")"
	}
	return "func" + recv + unnamed(fn, qualify)
}

// qualifyOthers writes the paths of all packages but one.
func qualifyOthers(own *types.Package) types.Qualifier {
	return func(p *types.Package) string {
		if p == own {
			return ""
		}
		return p.Path()
	}
}

// unnamed writes the parameters and results of a function without their names, and without the
// receiver.
func unnamed(fn *types.Func, qualify types.Qualifier) string {
	// Type parameters belong to the signature, with their constraints.
	sig := fn.Signature()
	var b strings.Builder
	if n := sig.TypeParams().Len(); n > 0 {
		b.WriteString("[")
		for i := range n {
			tp := sig.TypeParams().At(i)
			fmt.Fprintf(&b, "%s %s,", tp.Obj().Name(), types.TypeString(tp.Constraint(), qualify))
		}
		b.WriteString("]")
	}
	// list writes a list of types. The last one may be variadic.
	list := func(t *types.Tuple, variadic bool) {
		b.WriteString("(")
		for i := range t.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			s := types.TypeString(t.At(i).Type(), qualify)
			if variadic && i == t.Len()-1 {
				s = "..." + strings.TrimPrefix(s, "[]")
			}
			b.WriteString(s)
		}
		b.WriteString(")")
	}
	list(sig.Params(), sig.Variadic())
	switch sig.Results().Len() {
	case 0:
	case 1:
		b.WriteString(" " + types.TypeString(sig.Results().At(0).Type(), qualify))
	default:
		b.WriteString(" ")
		list(sig.Results(), false)
	}
	return b.String()
}
