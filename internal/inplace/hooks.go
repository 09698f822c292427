package inplace

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/syntax"
)

// hooks places the test files of a package with two calls more at each loop over a benchmark's
// iterations: where it begins, and where it ends. So what a benchmark prepares is told from its
// work. For a group, whose processes take turns, the second call is where an iteration begins, so
// that slices end between iterations, and nothing is added to the code under test. Lines keep their
// numbers. A loop before the last b.ResetTimer() only prepares. On one processor
// b.RunParallel(func(pb *testing.PB) {...}) has one goroutine, unless the benchmark asks for more:
// then the loop over pb.Next() begins twice in a round, and for a group it is not timed.
//
// They are the same in all programs.
func (p *Place) hooks(pkg *gotool.Listed) (overlay, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, ok := p.hooked[pkg.ImportPath]; ok {
		return o, nil
	}
	o, dir := overlay{}, filepath.Join(p.dir, fmt.Sprintf("hooks%d", len(p.hooked)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// Hook each test file, and overlay those that changed.
	for _, list := range [][]string{pkg.TestGoFiles, pkg.XTestGoFiles} {
		for _, name := range list {
			path := filepath.Join(pkg.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			hooked, err := hook(string(text), livePath(p.u), p.u.Scope.Group())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if hooked != string(text) {
				if err := o.put(dir, path, hooked); err != nil {
					return nil, err
				}
			}
		}
	}
	if p.hooked == nil {
		p.hooked = map[string]overlay{}
	}
	p.hooked[pkg.ImportPath] = o
	return o, nil
}

// hookSuites places the test files of all suites with their hooks.
func (p *Place) hookSuites(o overlay) error {
	for _, s := range p.suites {
		files, err := p.hooks(s.pkg)
		if err != nil {
			return err
		}
		maps.Copy(o, files)
	}
	return nil
}

// hook adds the calls to a test file, for versions that take turns by iterations or by calls.
func hook(text, live string, turns bool) (string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	h := &hooker{fset: fset, turns: turns, testing: nameOfTesting(f), parallel: map[*ast.FuncLit]string{}}
	h.walk(f, token.NoPos)
	if len(h.edits) == 0 {
		return text, nil
	}
	h.insert(f.Name.End(), "; import beaglelive "+strconv.Quote(live))
	return syntax.Apply(text, h.edits), nil
}

// A hooker walks through a test file and collects the calls to add.
type hooker struct {
	fset      *token.FileSet
	turns     bool
	testing   string // name of that package in the file
	edits     []syntax.Edit
	enclosing []*benchmark            // functions around the current node
	loops     []string                // loops over iterations around it, in the same function
	parallel  map[*ast.FuncLit]string // the b whose b.RunParallel runs a function
}

func (h *hooker) insert(at token.Pos, text string) {
	offset := h.fset.PositionFor(at, false).Offset
	h.edits = append(h.edits, syntax.Edit{Start: offset, End: offset, New: text})
}

// walk visits a node and those below it. labelled is the place of the label in front of it, if any.
func (h *hooker) walk(n ast.Node, labelled token.Pos) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		h.function(n, n.Type, n.Body, "")
		return
	case *ast.FuncLit:
		h.function(n, n.Type, n.Body, h.parallel[n])
		return
	case *ast.CallExpr:
		for _, b := range h.enclosing {
			if name, is := b.selected(n.Fun, "RunParallel"); is && len(n.Args) == 1 {
				if lit, ok := n.Args[0].(*ast.FuncLit); ok {
					h.parallel[lit] = name
				}
			}
		}
	case *ast.LabeledStmt:
		h.walk(n.Stmt, n.Pos())
		return
	case *ast.ForStmt: // one without a condition may be how its function ends: nothing may follow it
		h.loop(n, labelled, n.Body, n.Cond != nil, n.Init, n.Cond)
		return
	case *ast.RangeStmt:
		h.loop(n, labelled, n.Body, true, n.X)
		return
	}
	h.children(n)
}

func (h *hooker) children(n ast.Node) {
	for _, c := range childrenOf(n) {
		h.walk(c, token.NoPos)
	}
}

// function walks through a function, in which loops of functions around it do not count.
func (h *hooker) function(n ast.Node, t *ast.FuncType, body *ast.BlockStmt, parallel string) {
	was := h.loops
	h.loops = nil
	h.enclosing = append(h.enclosing, newBenchmark(t, body, parallel, h.testing))
	h.children(n)
	h.enclosing, h.loops = h.enclosing[:len(h.enclosing)-1], was
}

// loop hooks a loop over iterations. A loop in a loop over the same iterations, as over a batch of
// them, is a part of these.
func (h *hooker) loop(n ast.Node, labelled token.Pos, body *ast.BlockStmt, ends bool, head ...ast.Node) {
	over := h.iterations(head)
	if over == "" || h.enclosing[len(h.enclosing)-1].prepares(n) || slices.Contains(h.loops, over) {
		h.children(n)
		return
	}
	h.insert(statementStart(labelled, n.Pos()), "beaglelive.Loop("+over+"); ")
	switch {
	case h.turns:
		h.insert(body.Lbrace+1, " beaglelive.Tick(); ")
	case ends:
		h.insert(n.End(), "; beaglelive.Over()")
	}
	h.loops = append(h.loops, over)
	h.children(n)
	h.loops = h.loops[:len(h.loops)-1]
}

// iterations returns the arguments of beaglelive.Loop for a loop with this head, or "" if it is no
// loop over iterations. The innermost function whose benchmark the head names decides.
func (h *hooker) iterations(head []ast.Node) string {
	for i, b := range slices.Backward(h.enclosing) {
		over := b.iterations(head)
		if over == "" {
			continue
		}
		name, _, _ := strings.Cut(over, ",")
		if slices.ContainsFunc(h.enclosing[i+1:], func(in *benchmark) bool { return in.params[name] }) {
			return "" // another thing of this name
		}
		return over
	}
	return ""
}

// nameOfTesting returns the name that a file gives to package testing; "" when it does not import
// it. A type B of another package has no iterations, or others.
func nameOfTesting(f *ast.File) string {
	for _, s := range f.Imports {
		switch {
		case s.Path.Value != `"testing"`:
		case s.Name != nil:
			return s.Name.Name
		default:
			return "testing"
		}
	}
	return ""
}

// statementStart returns the place at which a statement begins, with its label.
func statementStart(label, at token.Pos) token.Pos {
	if label.IsValid() {
		return label
	}
	return at
}

// childrenOf returns the nodes directly below one.
func childrenOf(n ast.Node) (out []ast.Node) {
	ast.Inspect(n, func(c ast.Node) bool {
		if c == n {
			return true
		}
		if c != nil {
			out = append(out, c)
		}
		return false
	})
	return out
}

// A benchmark is a function that may have parameters of type *testing.B.
type benchmark struct {
	params map[string]bool   // of any type, by name
	names  map[string]bool   // of those of type *testing.B
	pbs    map[string]string // parameters of type *testing.PB, with the name of the benchmark's parameter
	held   map[string]string // variables that hold b.N, or b.N elements, with the parameter's name
	begun  token.Pos         // the last b.ResetTimer() that is no part of a loop or of another function
}

// newBenchmark reads a function. parallel is the parameter b by whose b.RunParallel it runs; "" for
// none. testing is the name of that package.
func newBenchmark(t *ast.FuncType, body *ast.BlockStmt, parallel, testing string) *benchmark {
	b := &benchmark{params: map[string]bool{}, names: map[string]bool{}, pbs: map[string]string{},
		held: map[string]string{}}
	// Find the parameters that are a *testing.B or a *testing.PB.
	for _, field := range t.Params.List {
		for _, id := range field.Names {
			b.params[id.Name] = true
		}
		star, ok := field.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		sel, ok := star.X.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if pkg, is := sel.X.(*ast.Ident); !is || pkg.Name != testing {
			continue
		}
		for _, id := range field.Names {
			switch {
			case sel.Sel.Name == "B":
				b.names[id.Name] = true
			case sel.Sel.Name == "PB" && parallel != "":
				b.pbs[id.Name] = parallel
			}
		}
	}
	if body == nil || len(b.names) == 0 {
		return b
	}
	// Find the variables that hold b.N, or a part of it.
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.AssignStmt:
			for i, e := range n.Rhs {
				if name := b.counterOf(e); name != "" && len(n.Lhs) == len(n.Rhs) {
					if id, ok := n.Lhs[i].(*ast.Ident); ok && id.Name != "_" {
						b.held[id.Name] = name
					}
				}
			}
		}
		return true
	})
	// Find the last call of ResetTimer.
	for _, s := range body.List {
		if e, ok := s.(*ast.ExprStmt); ok {
			if call, ok := e.X.(*ast.CallExpr); ok {
				if _, is := b.selected(call.Fun, "ResetTimer"); is {
					b.begun = s.Pos()
				}
			}
		}
	}
	return b
}

// selected tells the parameter of which an expression selects something.
func (b *benchmark) selected(n ast.Node, what string) (name string, is bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != what {
		return "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || !b.names[id.Name] {
		return "", false
	}
	return id.Name, true
}

// counterOf names the parameter b whose b.N a value is, or is as long as.
func (b *benchmark) counterOf(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 1 {
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "make" {
			e = call.Args[1]
		}
	}
	name, _ := b.selected(e, "N")
	return name
}

// next names the parameter b of whose b.RunParallel a node asks for the next iteration.
func (b *benchmark) next(n ast.Node) string {
	if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Next" {
		if id, ok := sel.X.(*ast.Ident); ok {
			return b.pbs[id.Name]
		}
	}
	return ""
}

// prepares reports whether a loop of the function is over before the timer begins.
func (b *benchmark) prepares(loop ast.Node) bool { return loop.End() <= b.begun }

// iterations returns what tells a round of a benchmark's iterations, as arguments in Go, when the
// head of a loop asks for b.N, b.Loop() or pb.Next(); else "".
func (b *benchmark) iterations(head []ast.Node) (told string) {
	for _, part := range head {
		if part == nil {
			continue
		}
		ast.Inspect(part, func(n ast.Node) bool {
			if args := b.asks(n); args != "" {
				told = args
			}
			return told == ""
		})
		if told != "" {
			break
		}
	}
	return told
}

// asks returns the arguments that iterations looks for, if a node itself asks for the iterations.
// The second argument is how many there are to come; b.Loop does not say.
func (b *benchmark) asks(n ast.Node) string {
	if name, is := b.selected(n, "Loop"); is {
		return name + ", 0"
	}
	if name, is := b.selected(n, "N"); is {
		return name + ", " + name + ".N"
	}
	if name := b.next(n); name != "" {
		return name + ", " + name + ".N"
	}
	// A variable may hold b.N.
	if id, ok := n.(*ast.Ident); ok && b.held[id.Name] != "" {
		return b.held[id.Name] + ", " + b.held[id.Name] + ".N"
	}
	return ""
}
