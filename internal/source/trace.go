package source

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/internal/tail"
)

// A Site is a decision of a version that a traced build counts. Sites are
// numbered over all versions of the build.
type Site struct {
	Line  int
	Text  string    // of the condition
	Sides [2]string // its outcomes; "" for one that says nothing to people
	Mark  int       // offset of the statement that it marks; 0 for a decision
}

// Traced returns [Writer.Variant] with calls of the package rt at each branch, comparison, switch
// and table access inside its functions, and in front of the statements that other statements may
// skip. rt is the import path; first is the number of the first site. Results stay the same.
// Lines keep their numbers.
func (w *Writer) Traced(f *File, suffix, rt string, first int) (text string, sites []Site, err error) {
	edits, err := w.renames(f, suffix)
	if err != nil {
		return "", nil, err
	}
	traced, sites := traceEdits(f, rt, first)
	return syntax.Apply(f.Src, append(edits, traced...)), sites, nil
}

// traceEdits returns the edits that add calls of rt.
func traceEdits(f *File, rt string, first int) ([]syntax.Edit, []Site) {
	t := newTracer(f, first)
	for _, d := range f.AST.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			t.marks = !hasGoto(d)
			t.function(d)
		}
	}
	return t.importing(rt), t.sites
}

func newTracer(f *File, first int) *tracer {
	return &tracer{f: f, first: first, starts: map[ast.Stmt]token.Pos{}}
}

// function traces a function that has room for calls.
func (t *tracer) function(d *ast.FuncDecl) {
	if d.Body != nil && !bareStack(d) {
		t.edge(d.Body.Lbrace, d.Name, "")
		t.walk(d.Body)
	}
}

// importing returns the edits, with the import of rt if they need it.
func (t *tracer) importing(rt string) []syntax.Edit {
	if len(t.sites) > 0 {
		t.insert(t.f.AST.Name.End(), "; import "+traceName+" "+strconv.Quote(rt))
	}
	return t.edits
}

// traceName is a traced file's name for package rt.
const traceName = "beaglert"

// bareStack reports whether a function may have no room for calls.
func bareStack(d *ast.FuncDecl) bool {
	if d.Doc == nil {
		return false
	}
	for _, c := range d.Doc.List {
		if strings.HasPrefix(c.Text, "//go:nosplit") || strings.HasPrefix(c.Text, "//go:linkname") {
			return true
		}
	}
	return false
}

// A tracer collects the edits of one version. Edits at one place are applied in the order in
// which they were added: outer calls open first and close last.
type tracer struct {
	f      *File
	first  int
	sites  []Site
	edits  []syntax.Edit
	starts map[ast.Stmt]token.Pos // of the label in front of a statement
	marks  bool                   // statements are marked
}

func (t *tracer) offset(p token.Pos) int { return t.f.Fset.File(t.f.AST.FileStart).Offset(p) }

func (t *tracer) insert(p token.Pos, text string) {
	t.edits = append(t.edits, syntax.Edit{Start: t.offset(p), End: t.offset(p), New: text})
}

func (t *tracer) replace(from, to token.Pos, text string) {
	t.edits = append(t.edits, syntax.Edit{Start: t.offset(from), End: t.offset(to), New: text})
}

// site numbers a decision.
func (t *tracer) site(n ast.Node, sides ...string) int {
	text := strings.Join(strings.Fields(t.f.Src[t.offset(n.Pos()):t.offset(n.End())]), " ")
	s := Site{Line: t.f.line(n.Pos()), Text: tail.Short(text, maxSiteText)}
	copy(s.Sides[:], sides)
	t.sites = append(t.sites, s)
	return t.first + len(t.sites) - 1
}

const maxSiteText = 60

// edge counts entries into the block that opens at brace.
func (t *tracer) edge(brace token.Pos, n ast.Node, side string) {
	t.insert(brace+1, fmt.Sprintf(" %s.TraceEdge(%d);", traceName, t.site(n, side)))
}

func (t *tracer) walk(n ast.Node) {
	if n != nil {
		ast.Inspect(n, t.visit)
	}
}

// visit inserts the calls that trace the decisions of a node. It returns true where the node's
// parts are to be visited in the usual way.
func (t *tracer) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok {
		return t.expr(e)
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.LabeledStmt:
		t.starts[n.Stmt] = n.Pos()
	case *ast.BlockStmt:
		t.mark(n.List)
	// Conditions are traced by cond, and their bodies are visited afterwards: the order of the
	// insertions is that of the text.
	case *ast.IfStmt:
		t.stmt(n.Init)
		t.cond(n.Cond)
		t.walk(n.Body)
		t.stmt(n.Else)
		return false
	case *ast.ForStmt:
		t.stmt(n.Init)
		if n.Cond != nil {
			t.cond(n.Cond)
		}
		t.stmt(n.Post)
		t.walk(n.Body)
		return false
	case *ast.RangeStmt:
		t.ranges(n)
		return false
	case *ast.SwitchStmt:
		t.switches(n)
		return false
	case *ast.CaseClause:
		t.caseEdge(n) // of a type switch: its cases are types
		t.mark(n.Body)
		for _, s := range n.Body {
			t.walk(s)
		}
		return false
	case *ast.CommClause:
		head := *n
		head.Body = nil
		t.edge(n.Colon, &head, "case")
		t.mark(n.Body)
	}
	return true
}

// stmt walks a statement that may be missing.
func (t *tracer) stmt(s ast.Stmt) {
	if s != nil {
		t.walk(s)
	}
}

// ranges counts that a loop is reached, and its iterations.
func (t *tracer) ranges(n *ast.RangeStmt) {
	start := n.Pos()
	if p, ok := t.starts[n]; ok {
		start = p
	}
	id := t.site(n.X, "loop entered", "loop never entered")
	t.insert(start, fmt.Sprintf("%s.TraceLoop(%d); ", traceName, id))
	t.walk(n.X)
	t.insert(n.Body.Lbrace+1, fmt.Sprintf(" %s.TraceEdge(%d);", traceName, id))
	t.walk(n.Body)
}

// switches counts the cases, and compares the operand with the constants.
func (t *tracer) switches(n *ast.SwitchStmt) {
	t.stmt(n.Init)
	t.operand(n)
	for _, s := range n.Body.List {
		// Without a tag each case is a condition; with one it is compared with the tag.
		c := s.(*ast.CaseClause)
		for _, e := range c.List {
			if n.Tag == nil {
				t.cond(e)
			} else {
				t.walk(e)
			}
		}
		// The default has an edge as well.
		if n.Tag != nil || c.List == nil {
			t.caseEdge(c)
		}
		// The body's statements are sites in the order of the text.
		t.mark(c.Body)
		for _, s := range c.Body {
			t.walk(s)
		}
	}
}

func (t *tracer) caseEdge(c *ast.CaseClause) {
	head := *c
	head.Body = nil // its text is the head alone
	t.edge(c.Colon, &head, "case")
}

// operand hands the operand of a switch and its constants to rt.
func (t *tracer) operand(n *ast.SwitchStmt) {
	if n.Tag == nil {
		return
	}
	name := map[int]string{integers: "TraceSwitch", texts: "TraceSwitchText"}[t.kind(n.Tag)]
	// A tag that is constant, or not of a plain type, is not compared with anything telling.
	if name == "" || t.isConstant(n.Tag) || holdsUntypedShift(t.f.Info, n.Tag) {
		t.walk(n.Tag)
		return
	}
	var list []string
	first := t.first + len(t.sites)
	for _, s := range n.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			// A switch with very many cases would make a call with as many arguments.
			if v := t.f.Info.Types[e].Value; v != nil && len(list) < maxCases {
				list = append(list, literal(v))
				t.site(e) // without sides: the edge of the case has them
			}
		}
	}
	t.insert(n.Tag.Pos(), fmt.Sprintf("%s.%s(%d, ", traceName, name, first))
	t.walk(n.Tag)
	t.insert(n.Tag.End(), strings.Join(append([]string{""}, list...), ", ")+")")
}

const maxCases = 64

func literal(v constant.Value) string {
	if v.Kind() == constant.String {
		return strconv.Quote(constant.StringVal(v))
	}
	return constant.ToInt(v).ExactString()
}
