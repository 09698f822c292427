package lift

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	gotypes "go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
)

// Entry is the function of a program's text that runs all regions.
const Entry = "BeagleLift"

const (
	fuel = 4096      // turns of loops that a region may take on one input
	tank = 2_000_000 // on all inputs together; those after it do not run
)

// columnsSource is the text of the functions that exchange columns with a program.
//
//go:embed columns.go
var columnsSource string

// A writer writes the file that holds regions as functions.
type writer struct {
	p       *mutate.Pass
	imports map[string]string // name -> path
	body    strings.Builder
	burning map[gotypes.Object]bool // functions that have a copy with fuel
}

// program returns the text of [Study.Program], and the line at which the text of each region
// begins.
func program(p *mutate.Pass, pkg string, regions []*Region) (string, []int) {
	// Functions of the file that the regions may call are copied with fuel, so that none runs
	// forever. A method or a generic one is not called.
	w := &writer{p: p, imports: map[string]string{}, burning: map[gotypes.Object]bool{}}
	for _, d := range p.File.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil && fn.Type.TypeParams == nil &&
			fn.Name.Name != "_" &&
			fn.Name.Name != "init" {
			w.burning[p.Info.Defs[fn.Name]] = true
		}
	}
	for _, d := range p.File.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && w.burning[p.Info.Defs[fn.Name]] {
			w.helper(fn)
		}
	}
	// Each region becomes a function, and a function that runs it on all inputs.
	var starts []int
	for i, r := range regions {
		starts = append(starts, strings.Count(w.body.String(), "\n"))
		w.region(i, r)
		w.runner(i, r)
	}
	w.entry(len(regions))
	// The imports are known once all the text is written. The names in the program begin with
	// beagle, to avoid the code's own.
	var b strings.Builder
	b.WriteString("package " + pkg + "\n\nimport (\n")
	for _, path := range []string{"encoding/binary", "io", "math", "os", "reflect"} {
		fmt.Fprintf(&b, "\tbeagle%s %q\n", path[strings.LastIndexByte(path, '/')+1:], path)
	}
	names := make([]string, 0, len(w.imports))
	for name := range w.imports {
		names = append(names, name)
	}
	inorder.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "\t%s %q\n", name, w.imports[name])
	}
	_, columns, _ := strings.Cut(columnsSource, "\n)\n")
	b.WriteString(")\n\n" + support + columns + "\n")
	// The lines count from the beginning of the whole file.
	for i := range starts {
		starts[i] += strings.Count(b.String(), "\n") + 1
	}
	return b.String() + w.body.String(), starts
}

const support = `var beagleFuel, beagleTank int

func beagleBurn() {
	beagleTank--
	if beagleFuel--; beagleFuel < 0 {
		panic("out of fuel")
	}
}

`

// typeText writes a type as the file must.
func (w *writer) typeText(t gotypes.Type) string {
	return gotypes.TypeString(t, func(p *gotypes.Package) string {
		if p == w.p.Pkg {
			return ""
		}
		w.imports[p.Name()] = p.Path()
		return p.Name()
	})
}

// helper writes a copy of a function that burns fuel.
func (w *writer) helper(fn *ast.FuncDecl) {
	text := w.copy(fn.Type.Params, nil)
	if fn.Type.Results != nil {
		text += " " + w.copy(fn.Type.Results, nil)
	}
	fmt.Fprintf(&w.body, "func beagleFuel%s%s {\n\tbeagleBurn()\n", fn.Name.Name, text)
	for _, s := range fn.Body.List {
		w.body.WriteString("\t" + w.copy(s, nil) + "\n")
	}
	w.body.WriteString("}\n\n")
}

// copy returns the text of a node with fuel, and other changes.
func (w *writer) copy(n ast.Node, change func(ast.Node) (string, bool)) string {
	return w.p.TextWith(n, func(n ast.Node) (string, bool) {
		if change != nil {
			if text, ok := change(n); ok {
				return text, true
			}
		}
		// Each loop burns fuel in its body, and each call of a copied function goes to the copy.
		switch n := n.(type) {
		case *ast.ForStmt:
			return w.loop(n, n.Body, change), true
		case *ast.RangeStmt:
			return w.loop(n, n.Body, change), true
		case *ast.Ident:
			obj := w.p.Info.Uses[n]
			if w.burning[obj] {
				return "beagleFuel" + n.Name, true
			}
			if pkg, ok := obj.(*gotypes.PkgName); ok {
				w.imports[n.Name] = pkg.Imported().Path()
			}
		}
		return "", false
	})
}

// loop returns the text of a loop whose body burns fuel.
func (w *writer) loop(n ast.Stmt, body *ast.BlockStmt, change func(ast.Node) (string, bool)) string {
	var b strings.Builder
	// The text between the parts of the loop is copied as it is; the parts may have changes in
	// them.
	at := n.Pos()
	ast.Inspect(n, func(k ast.Node) bool {
		if k == nil || k == ast.Node(n) || k == ast.Node(body) {
			return k == ast.Node(n)
		}
		b.WriteString(w.p.Between(at, k.Pos()) + w.copy(k, change))
		at = k.End()
		return false
	})
	// The body burns fuel at its start, so that a loop that never ends on drawn inputs is stopped.
	b.WriteString(w.p.Between(at, body.Lbrace) + "{ beagleBurn(); ")
	at = body.Lbrace + 1
	for _, s := range body.List {
		b.WriteString(w.p.Between(at, s.Pos()) + w.copy(s, change))
		at = s.End()
	}
	return b.String() + w.p.Between(at, body.End())
}

// region writes a region as a function of its inputs.
func (w *writer) region(i int, r *Region) {
	var params []string
	for _, in := range r.Inputs {
		params = append(params, in.Name+" "+w.typeText(in.goType))
	}
	// An input may have the name of the package that the type is of.
	builder := fmt.Sprintf("beagleBuilder%d", i)
	for _, o := range r.Outputs {
		if o.builder != nil {
			fmt.Fprintf(&w.body, "type %s = %s\n\n", builder, strings.TrimPrefix(w.typeText(o.builder), "*"))
		}
	}
	results, after := r.signature(w)
	fmt.Fprintf(&w.body, "func beagleRegion%d(%s) (%s) {\n", i, strings.Join(params, ", "), strings.Join(results, ", "))
	change := r.change(w)
	if r.expr != nil {
		fmt.Fprintf(&w.body, "\treturn %s\n}\n\n", w.copy(r.expr, change))
		return
	}
	for _, o := range r.Outputs {
		if o.builder != nil {
			fmt.Fprintf(&w.body, "\t%s := new(%s)\n", o.Name, builder)
		}
	}
	for _, s := range r.stmts {
		w.body.WriteString("\t" + w.copy(s, change) + "\n")
	}
	if !r.returns {
		last := after
		if r.early {
			last = append(append([]string{"false"}, r.zeros()...), after...)
		}
		fmt.Fprintf(&w.body, "\treturn %s\n", strings.Join(last, ", "))
	}
	w.body.WriteString("}\n\n")
}

// signature returns the results of a region's function, and the variables among them.
func (r *Region) signature(w *writer) (results, after []string) {
	for k, o := range r.Outputs {
		name := fmt.Sprintf("beagleOut%d", k)
		switch {
		// In a region that may return early, every output has a name, because the return sets all
		// of them.
		case o.Name == "returned" || o.result >= 0 && r.early:
			results = append(results, name+" "+w.typeText(o.goType))
		case o.result >= 0:
			results = append(results, r.resultName(o.result, name)+" "+w.typeText(o.goType))
		case o.elements:
		default:
			results = append(results, name+" "+w.typeText(o.goType))
			// Variables that go on are set after the region's statements.
			switch {
			case o.Name == "": // an expression
			case o.builder != nil:
				after = append(after, o.Name+".String()")
			default:
				after = append(after, o.Name)
			}
		}
	}
	return results, after
}

// resultName returns the name of a result of the function.
func (r *Region) resultName(place int, or string) string {
	n := 0
	for _, f := range r.fn.Type.Results.List {
		for _, id := range f.Names {
			if n == place && id.Name != "_" {
				return id.Name
			}
			n++
		}
	}
	return or
}

func (r *Region) zeros() (out []string) {
	for k, o := range r.Outputs {
		if o.result >= 0 {
			out = append(out, fmt.Sprintf("beagleOut%d", k))
		}
	}
	return out
}

// change replaces fields by inputs, and returns of a region that may go on.
func (r *Region) change(w *writer) func(ast.Node) (string, bool) {
	var self func(n ast.Node) (string, bool)
	self = func(n ast.Node) (string, bool) {
		// A field that is an input is named by its input. The body of a literal stays as it is, for
		// its returns are its own.
		switch n := n.(type) {
		case *ast.SelectorExpr:
			text := w.p.Text(n)
			for _, in := range r.Inputs {
				if in.obj == nil && in.Expr == text {
					return in.Name, true
				}
			}
		case *ast.FuncLit:
			return w.p.Text(n), true
		// A return of a region that may go on says so in its first result. Outputs that do not
		// count there keep what they are.
		case *ast.ReturnStmt:
			if !r.early {
				break
			}
			list := []string{"true"}
			for _, e := range n.Results {
				list = append(list, w.copy(e, self))
			}
			for k, o := range r.Outputs {
				if o.late {
					list = append(list, fmt.Sprintf("beagleOut%d", k)) // it does not count there
				}
			}
			return "return " + strings.Join(list, ", "), true
		}
		return "", false
	}
	return self
}

// runner writes the function that runs a region on all its inputs.
func (w *writer) runner(i int, r *Region) {
	b := &w.body
	fmt.Fprintf(b, "func beagleRun%d(in []byte) (rest, out []byte, ok bool) {\n", i)
	// Read the inputs column by column.
	for k, in := range r.Inputs {
		fmt.Fprintf(b, `	var in%[1]d []%[2]s
	if in, ok = beagleGet(in, beaglereflect.ValueOf(&in%[1]d).Elem()); !ok {
		return nil, nil, false
	}
`, k, in.Type.Name)
	}
	b.WriteString("\tstatus := make([]byte, len(in0))\n")
	var outs, args []string
	for k, o := range r.Outputs {
		fmt.Fprintf(b, "\tout%d := make([]%s, len(in0))\n", k, o.Type.Name)
	}
	// The tank is fuel for all inputs together, and each call gets some of it. A call that panics
	// or runs dry leaves its status at 1.
	fmt.Fprintf(b,
		"\tbeagleTank = %d\n\tfor i := range in0 {\n\t\tif status[i] = 1; beagleTank < 0 {\n\t\t\tcontinue\n\t\t}\n",
		tank)
	fmt.Fprintf(b, "\t\tfunc() {\n\t\t\tdefer func() { recover() }()\n\t\t\tbeagleFuel = %d\n", fuel)
	// A slice is copied for each call, as the region may write to it.
	for k, in := range r.Inputs {
		value := fmt.Sprintf("in%d[i]", k)
		if in.Type.slice {
			value = "append(" + value + "[:0:0], " + value + "...)"
		}
		fmt.Fprintf(b, "\t\t\ta%d := (%s)(%s)\n", k, w.typeText(in.goType), value)
		args = append(args, fmt.Sprintf("a%d", k))
	}
	for k, o := range r.Outputs {
		if !o.elements {
			outs = append(outs, fmt.Sprintf("r%d", k))
		}
	}
	call := fmt.Sprintf("beagleRegion%d(%s)\n", i, strings.Join(args, ", "))
	if len(outs) > 0 {
		call = strings.Join(outs, ", ") + " := " + call
	}
	b.WriteString("\t\t\t" + call)
	// Elements are read from the argument after the call, and all others from the results.
	for k, o := range r.Outputs {
		value := fmt.Sprintf("r%d", k)
		if o.elements {
			value = fmt.Sprintf("a%d", slices.IndexFunc(r.Inputs, func(in Input) bool { return in.Name == o.Name }))
		}
		fmt.Fprintf(b, "\t\t\tout%d[i] = (%s)(%s)\n", k, o.Type.Name, value)
	}
	b.WriteString("\t\t\tstatus[i] = 0\n\t\t}()\n\t}\n\tout = beaglePut(nil, beaglereflect.ValueOf(status))\n")
	for k := range r.Outputs {
		fmt.Fprintf(b, "\tout = beaglePut(out, beaglereflect.ValueOf(out%d))\n", k)
	}
	b.WriteString("\treturn in, out, true\n}\n\n")
}

// entry writes the function that runs all regions.
func (w *writer) entry(n int) {
	var runs []string
	for i := range n {
		runs = append(runs, "beagleRun"+strconv.Itoa(i))
	}
	fmt.Fprintf(&w.body, `func %s() {
	in, _ := beagleio.ReadAll(beagleos.Stdin)
	beagleos.Stdout.WriteString(%q)
	for _, run := range []func([]byte) (rest, out []byte, ok bool){%s} {
		rest, out, ok := run(in)
		if !ok {
			beagleos.Exit(3)
		}
		beagleos.Stdout.Write(out)
		in = rest
	}
}
`, Entry, marker, strings.Join(runs, ", "))
}

// marker stands in front of the outputs: the package may have printed before.
const marker = "\x00beagle-lift\x00"

// Request writes the inputs of regions for their program.
func (s *Study) Request() []byte {
	var out []byte
	for _, q := range s.questions {
		for i := range q.r.Inputs {
			out = beaglePut(out, reflect.ValueOf(q.inputs[i]))
		}
	}
	return out
}

// Read takes the program's output. Regions after the one at which it ended stay without outputs.
func (s *Study) Read(reply []byte) {
	_, body, ok := bytes.Cut(reply, []byte(marker))
	if !ok {
		return
	}
	for _, q := range s.questions {
		if body, ok = q.read(body); !ok {
			return
		}
	}
}

// read takes the statuses and the outputs of one region from the program's output, and returns the
// rest of it. ok is false if they do not fit: the program is code that may do anything.
func (q *question) read(body []byte) (rest []byte, ok bool) {
	// The statuses come first: their number is what every column must have.
	var status []byte
	if body, ok = beagleGet(body, reflect.ValueOf(&status).Elem()); !ok {
		return nil, false
	}
	outs := make([]any, len(q.r.Outputs))
	for k, o := range q.r.Outputs {
		col := reflect.New(reflect.SliceOf(o.Type.of)).Elem()
		if body, ok = beagleGet(body, col); !ok || col.Len() != len(status) {
			return nil, false
		}
		outs[k] = col.Interface()
	}
	q.status, q.outs = status, outs
	return body, true
}
