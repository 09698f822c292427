package llm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// Facts returns short names of remarkable traits of a version and its inputs, with weights from 0
// to 1. Lessons match these facts. They come from the compiler's account ("bounds-check"), the
// inputs ("ascii", "sorted"), the profile, and the shape of the code ("table", "recursion"). They
// are hints, because Facts reads the code without types.
func (e *Briefing) Facts() map[string]float64 {
	out := e.facts()
	maps.DeleteFunc(out, func(_ string, weight float64) bool { return weight <= 0 })
	return out
}

// facts returns Facts, and with a negative weight the facts that the inputs refute.
func (e *Briefing) facts() facts {
	out := facts{}
	out.fromCompiler(&e.Parent)
	out.fromInputs(e.Target, e.Facets)
	f, err := parser.ParseFile(token.NewFileSet(), "", e.Parent.Source, parser.SkipObjectResolution)
	if err == nil {
		out.fromCode(f)
	}
	if e.Target != nil && e.Target.Facts.Recursive {
		out.add("recursion", 1)
	}
	out.combine()
	return out
}

// FactNames lists the facts that [Briefing.Facts] knows; a lesson may match these only.
var FactNames = []string{
	"accumulate", "alloc", "append", "ascii", "bounds-check", "branch", "byte-predicate", "closure", "concat",
	"convert", "crc", "defer",
	"division", "escape", "float", "format", "hash", "identity", "inlining", "interface", "lock", "loop", "map",
	"nested-loop", "parse",
	"recurrence", "recursion", "regexp", "reuse", "rune", "scan", "short-input", "skewed", "slice-result", "sort",
	"sorted", "split",
	"table", "text", "unique", "word-load",
}

type facts map[string]float64

func (f facts) add(name string, weight float64) { f[name] = max(f[name], min(weight, 1)) }

// addMeasured adds a fact that the inputs prove or refute: the share of the calls for which it
// holds, and the share that it takes. A fact of one parameter is not refuted by another.
func (f facts) addMeasured(name string, share, least float64) {
	switch {
	case share > least:
		f[name] = max(f[name], min(share, 1))
	case f[name] == 0:
		f[name] = -1
	}
}

func (f facts) fromCompiler(v *Version) {
	const least = 0.3 // the weight of a fact that holds somewhere, hot or not
	for _, n := range v.Static.Notes {
		weight := max(least, 2*v.Profile[n.Line])
		switch n.Code {
		case "isInBounds", "isSliceInBounds":
			f.add("bounds-check", weight)
		case "escape", "escapes":
			f.add("escape", weight)
		case "cannotInlineCall":
			f.add("inlining", weight)
		case "cannotInlineFunction":
			if strings.Contains(n.Text, "exceeds budget") {
				f.add("inlining", weight)
			}
		}
	}
}

// fromInputs adds the facts that the recorded arguments show.
func (f facts) fromInputs(t *beagle.Target, x *beagle.Facets) {
	if x == nil {
		return
	}
	f.addMeasured("identity", x.Identity, 0.3)
	for i, p := range x.Params {
		if len(p.Bytes) == 256 {
			f.add("text", 1)
			f.addMeasured("ascii", p.ASCII, 0.8)
		}
		kind := paramOf(t, i).Kind
		if (kind == "slice" || kind == "array") && p.Len[1] > 1 {
			f.addMeasured("sorted", p.Sorted, 0.5)
			f.addMeasured("unique", p.Unique, 0.5)
		}
		if p.Len[4] > 0 && p.Len[2] <= 16 {
			f.add("short-input", 1)
		}
		if len(p.Top) > 0 && p.Top[0].Share > 0.3 {
			f.add("skewed", p.Top[0].Share)
		}
	}
}

// combine adds facts that follow from several others.
func (f facts) combine() {
	if f["concat"]+f["format"]+f["append"]+f["map"]+f["convert"]+f["escape"] > 0 {
		f.add("alloc", max(f["escape"], 0.5))
	}
	if f["text"] > 0 && f["loop"] > 0 {
		f.add("scan", 0.6)
	}
}

// fromCode adds facts about the shape of the code.
func (f facts) fromCode(file *ast.File) {
	tables := packageTables(file)
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		w := walker{facts: f, fn: fn, tables: tables}
		w.signature(fn.Type)
		ast.Inspect(fn.Type, w.visit)
		ast.Inspect(fn.Body, w.visit)
		if w.selfCalls > 0 {
			f.add("recursion", 0.8)
		}
		if w.selfCalls > 1 {
			f.add("recurrence", 1)
		}
		if w.compares >= 3 {
			f.add("branch", 0.5)
		}
	}
}

// packageTables returns the package variables that hold a list.
func packageTables(file *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				out[name.Name] = true
			}
		}
	}
	return out
}

// A walker gathers facts in one function.
type walker struct {
	facts     facts
	fn        *ast.FuncDecl
	tables    map[string]bool
	stack     []ast.Node
	selfCalls int
	compares  int // comparisons with character literals
}

func (w *walker) signature(t *ast.FuncType) {
	if t.Results == nil {
		return
	}
	for _, r := range t.Results.List {
		switch r := r.Type.(type) {
		case *ast.ArrayType:
			w.facts.add("slice-result", 0.5)
		case *ast.Ident:
			if r.Name == "bool" && len(t.Params.List) == 1 && isIdent(t.Params.List[0].Type, "byte", "uint8", "rune") {
				w.facts.add("byte-predicate", 1)
			}
		}
	}
}

func isIdent(e ast.Expr, names ...string) bool {
	id, ok := e.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}

// inLoop returns how many loops stand around the visited node.
func (w *walker) inLoop() int {
	n := 0
	for _, s := range w.stack {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			n++
		}
	}
	return n
}

func (w *walker) visit(n ast.Node) bool {
	if n == nil {
		w.stack = w.stack[:len(w.stack)-1]
		return true
	}
	loops := w.inLoop()
	w.node(n, loops)
	w.stack = append(w.stack, n)
	return true
}

// node notes the facts that a node shows. Those of calls, operations, assignments and elements
// depend on more than the kind of the node.
func (w *walker) node(n ast.Node, loops int) {
	switch n := n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		w.facts.add("loop", 0.4)
		if loops > 0 {
			w.facts.add("nested-loop", 0.6)
		}
	case *ast.CallExpr:
		w.call(n, loops)
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.AssignStmt:
		w.assign(n, loops)
	case *ast.IndexExpr:
		w.index(n)
	case *ast.MapType:
		w.facts.add("map", 0.8)
	case *ast.FuncLit:
		w.facts.add("closure", 0.5)
	case *ast.DeferStmt:
		w.facts.add("defer", 0.6)
	case *ast.TypeAssertExpr, *ast.TypeSwitchStmt, *ast.InterfaceType:
		w.facts.add("interface", 0.6)
	// Names of types stand for what code does with their values.
	case *ast.Ident:
		if n.Name == "float64" || n.Name == "float32" {
			w.facts.add("float", 0.7)
		}
		if n.Name == "any" {
			w.facts.add("interface", 0.5)
		}
	}
}

// byPackage lists the facts that a call of a package's function shows. A package without only
// covers all its functions.
var byPackage = map[string]struct {
	fact string
	only string // the beginning of the function's name
}{
	"sort": {"sort", ""}, "unicode": {"rune", ""}, "utf8": {"rune", ""}, "regexp": {"regexp", ""}, "crc32": {"crc", ""},
	"crc64": {"crc", ""},
	"fmt":   {"format", ""}, "strconv": {"parse", ""}, "slices": {"sort", "Sort"}, "binary": {"word-load", ""},
	"bits": {"hash", "Rotate"},
}

func (w *walker) call(c *ast.CallExpr, loops int) {
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		w.plainCall(fun.Name, c, loops)
	case *ast.SelectorExpr:
		pkg, _ := fun.X.(*ast.Ident)
		if pkg != nil {
			if p, ok := byPackage[pkg.Name]; ok && strings.HasPrefix(fun.Sel.Name, p.only) {
				w.facts.add(p.fact, 0.8)
			}
		}
		w.selectorCall(fun.Sel.Name)
	case *ast.ArrayType:
		if fun.Len == nil && isIdent(fun.Elt, "byte", "rune") && len(c.Args) == 1 {
			w.facts.add("convert", 0.7)
			if isIdent(fun.Elt, "rune") {
				w.facts.add("rune", 0.8)
			}
		}
	}
}

func (w *walker) plainCall(name string, c *ast.CallExpr, loops int) {
	switch name {
	case w.fn.Name.Name:
		w.selfCalls++
	case "append":
		if loops > 0 {
			w.facts.add("append", 0.8)
		}
	case "string":
		w.facts.add("convert", 0.5)
	case "make":
		w.facts.add("alloc", 0.5)
		if loops > 0 {
			w.facts.add("reuse", 0.8)
		}
	}
}

func (w *walker) selectorCall(name string) {
	switch name {
	case "Split", "SplitN", "Fields", "FieldsFunc", "Cut", "SplitSeq":
		w.facts.add("split", 0.8)
	case "ToLower", "ToUpper", "EqualFold", "WriteRune", "DecodeRune", "DecodeRuneInString",
		"ContainsRune", "IndexRune":
		w.facts.add("rune", 0.7)
	case "WriteString", "WriteByte", "Join", "Repeat":
		w.facts.add("concat", 0.4)
	case "Lock", "RLock", "Unlock":
		w.facts.add("lock", 0.8)
	case "Uint16", "Uint32", "Uint64":
		w.facts.add("word-load", 0.6)
	}
}

func (w *walker) binary(b *ast.BinaryExpr) {
	switch b.Op {
	case token.QUO, token.REM:
		if _, constant := b.Y.(*ast.BasicLit); !constant {
			w.facts.add("division", 0.7)
		}
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		for _, side := range []ast.Expr{b.X, b.Y} {
			if lit, ok := side.(*ast.BasicLit); ok && lit.Kind == token.CHAR {
				w.compares++
			}
		}
	case token.SHL:
		w.facts.add("word-load", 0.3)
	case token.XOR:
		if _, ok := b.X.(*ast.IndexExpr); ok && hasShift(b.Y) {
			w.facts.add("crc", 1)
		}
		w.facts.add("hash", 0.4)
	}
}

func hasShift(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.SHR {
			found = true
		}
		return !found
	})
	return found
}

func (w *walker) assign(a *ast.AssignStmt, loops int) {
	switch a.Tok {
	case token.ADD_ASSIGN:
		if loops > 0 {
			w.facts.add("accumulate", 0.6)
			if b, ok := a.Rhs[0].(*ast.BasicLit); ok && b.Kind == token.STRING {
				w.facts.add("concat", 1)
			}
		}
	case token.XOR_ASSIGN, token.MUL_ASSIGN:
		w.facts.add("hash", 0.7)
	case token.QUO_ASSIGN, token.REM_ASSIGN:
		w.facts.add("division", 0.6)
	}
}

func (w *walker) index(x *ast.IndexExpr) {
	if id, ok := x.X.(*ast.Ident); ok && w.tables[id.Name] {
		w.facts.add("table", 0.9)
	}
}

// names returns the facts of a target, the heaviest first, for readers.
func (f facts) names() []string {
	out := slices.Collect(maps.Keys(f))
	inorder.By(out, func(a, b string) int {
		if f[a] != f[b] {
			if f[a] > f[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return out
}
