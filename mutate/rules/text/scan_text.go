package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// scanText (part of catalogue S2) matches fmt.Sscanf with a constant format. It calls a helper that
// reads plain inputs itself, and leaves all others to fmt.Sscanf.
//
// The helper gives up on blanks where the format has none, signs and digits out of the ordinary,
// numbers that may not fit, what is no ASCII, and all that does not match. So the counts and the
// errors are those of the library.
var scanText = &mutate.Mutator{
	Name: "scan-text",
	Doc: "Read numbers and words of a fixed format straight from the text, as fmt.Sscanf would. Sscanf reads through " +
		"a reader rune by rune, and its variables are allocated. Exact: the helper takes plain inputs only, and " +
		"leaves the others, with all errors, to Sscanf.",
	Example: mutate.Shows(`_, err := fmt.Sscanf(s, "%d.%d", &major, &minor)`,
		`_, err := sscanVersion(s, &major, &minor)

func sscanVersion(s string, major, minor *int) (int, error) {
	v1, rest, ok := scanInt(s, 9, true)
	rest, ok = scanText(rest, ".", ok)
	v2, _, ok := scanInt(rest, 9, ok)
	if ok {
		*major, *minor = int(v1), int(v2)
		return 2, nil
	}
	return fmt.Sscanf(s, "%d.%d", major, minor)
}`),
	Class:   beagle.E0,
	Gain:    3,
	Find:    edit.SitesOf(scanOf, func(_ *mutate.Pass, s *scan) string { return "Sscanf " + strconv.Quote(s.format) }),
	Rewrite: rewriteScanText,
}

// A scan is a call of fmt.Sscanf whose format a helper can read.
type scan struct {
	call   *ast.CallExpr
	format string
	steps  []scanStep
	apart  bool // no two of the operands can be the same variable
}

// A scanStep reads one piece of a format.
type scanStep struct {
	helper string // of the kit
	text   string // what ScanText cuts
	most   int    // digits that fit in any case, or 0
	result string // the type of the variable, or ""
}

// scanOf returns the scan of a call, or nil.
func scanOf(p *mutate.Pass, call *ast.CallExpr) *scan {
	if _, ok := p.IsCall(call, "fmt", "Sscanf"); !ok || call.Ellipsis.IsValid() || !facts.TakesTime(p, call) {
		return nil
	}
	// A call with several results may stand for the text, the format and the variables.
	if len(call.Args) < 3 {
		return nil
	}
	// The new function names the package as the file does. Short names are those of its variables.
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(p.Text(fun.X)) < 3 || p.Text(fun.X) == "rest" || p.Text(fun.X) == "err" {
		return nil
	}
	// The new function must not read what an earlier step of this rule left to the library, and its
	// text uses these names.
	if isScanner(p, p.FuncOf(call)) || facts.RedefinesAny(p, call, "bool", "error", "false", "int", "int8", "int16",
		"int32", "int64", "len", "nil", "string", "true", "uint", "uint8", "uint16", "uint32", "uint64", "float64") {
		return nil
	}
	switch p.Parent(call).(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return nil
	}
	format, ok := facts.ConstString(p, call.Args[1])
	if !ok {
		return nil
	}
	s := &scan{call: call, format: format}
	if !s.read(p, call.Args[2:]) {
		return nil
	}
	s.apart = apartOperands(p, call.Args[2:])
	return s
}

// isScanner reports whether this rule wrote a function: it calls steps of the kit.
func isScanner(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, call := range mutate.Nodes[*ast.CallExpr](p, fn) {
		callee := p.Decl(p.Callee(call))
		copies := func(name string) bool { return example.IsCopy(p, callee, name) }
		if callee != nil && slices.ContainsFunc(scanHelpers, copies) {
			return true
		}
	}
	return false
}

// scanHelpers are the functions of the kit that read pieces.
var scanHelpers = []string{"ScanText", "ScanBlanks", "ScanDigits", "ScanInt", "ScanHex", "ScanWord", "ScanFloat"}

// read cuts the format into steps, one for each verb and each text between them.
func (s *scan) read(p *mutate.Pass, operands []ast.Expr) bool {
	for at := s.format; at != ""; {
		switch {
		case at[0] == ' ':
			at = strings.TrimLeft(at, " ")
			s.steps = append(s.steps, scanStep{helper: "ScanBlanks"})
		case at[0] == '%':
			// A width, a percent sign or an operand too few has rules of its own.
			if len(at) < 2 || len(operands) == 0 {
				return false
			}
			step, ok := pieceOf(at[1], p.Info.TypeOf(operands[0]))
			if !ok {
				return false
			}
			s.steps = append(s.steps, step)
			at, operands = at[2:], operands[1:]
		default:
			end := strings.IndexAny(at, " %")
			if end < 0 {
				end = len(at)
			}
			text := at[:end]
			if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return false
			}
			s.steps = append(s.steps, scanStep{helper: "ScanText", text: text})
			at = at[end:]
		}
	}
	return len(operands) == 0 && s.verbs() > 0
}

// verbs counts the steps that give a value.
func (s *scan) verbs() (n int) {
	for _, step := range s.steps {
		if step.result != "" {
			n++
		}
	}
	return n
}

// pieceOf returns the step for a verb and the type of its operand. A type with a name may have a
// method Scan, and most pairs of verb and type are errors.
func pieceOf(verb byte, operand types.Type) (step scanStep, ok bool) {
	ptr, ok := types.Unalias(operand).(*types.Pointer)
	if !ok {
		return step, false
	}
	b, ok := types.Unalias(ptr.Elem()).(*types.Basic)
	if !ok {
		return step, false
	}
	bits := map[types.BasicKind]int{types.Int8: 8, types.Uint8: 8, types.Int16: 16, types.Uint16: 16, types.Int: 32,
		types.Uint: 32, types.Int32: 32, types.Uint32: 32, types.Int64: 64, types.Uint64: 64}[b.Kind()]
	switch {
	case verb == 'd' && bits > 0 && b.Info()&types.IsUnsigned != 0:
		step.helper, step.most = "ScanDigits", map[int]int{8: 2, 16: 4, 32: 9, 64: 18}[bits]
	case verb == 'd' && bits > 0:
		step.helper, step.most = "ScanInt", map[int]int{8: 2, 16: 4, 32: 9, 64: 18}[bits]
	case (verb == 'x' || verb == 'X') && bits > 0:
		step.helper, step.most = "ScanHex", bits/4-1
	case verb == 's' && b.Kind() == types.String:
		step.helper = "ScanWord"
	case verb == 'f' && b.Kind() == types.Float64:
		step.helper = "ScanFloat"
	default:
		return step, false
	}
	step.result = types.Typ[b.Kind()].Name()
	return step, true
}

// apartOperands reports whether all operands are addresses of different variables: local ones, or
// fields of one struct.
func apartOperands(p *mutate.Pass, operands []ast.Expr) bool {
	seen := map[types.Object]bool{}
	var root *types.Var
	for _, e := range operands {
		u, ok := ast.Unparen(e).(*ast.UnaryExpr)
		if !ok || u.Op != token.AND {
			return false
		}
		at := ast.Unparen(u.X)
		var target types.Object = p.Var(at)
		if sel, ok := at.(*ast.SelectorExpr); ok {
			s := p.Info.Selections[sel]
			v := p.Var(sel.X)
			if s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 || v == nil || root != nil && root != v {
				return false
			}
			root, target = v, s.Obj()
		} else if v := p.Var(at); v == nil || !facts.IsLocal(p, v) {
			return false
		}
		if seen[target] {
			return false
		}
		seen[target] = true
	}
	return true
}

// rewriteScanText calls a function for the format instead.
func rewriteScanText(p *mutate.Pass, site mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*scan)
	var used []string
	for _, step := range s.steps {
		used = append(used, step.helper)
	}
	helpers, edits, err := example.Helpers(p, s.call, used...)
	if err != nil {
		return nil, err
	}
	wish := "sscan" + edit.UpperFirst(p.FuncOf(s.call).Name.Name)
	declare := func(name string) string { return s.declare(p, name, helpers) }
	name, declared := edit.Helper(p, s.call, declare, wish, wish+"Text")
	edits = append(edits, declared...)
	return append(edits, p.Replace(s.call.Fun, name), p.Span(s.call.Args[0].End(), s.call.Args[1].End(), "")), nil
}

// declare writes the function that reads a format.
func (s *scan) declare(p *mutate.Pass, name string, helpers map[string]string) string {
	var steps, values []string
	rest, ok := "s", "true"
	for i, step := range s.steps {
		// Each step goes on where the one before it ended.
		left, assign := "rest", " = "
		if i == len(s.steps)-1 {
			left = "_"
		}
		call := helpers[step.helper] + "(" + rest
		switch {
		case step.text != "":
			call += ", " + strconv.Quote(step.text)
		case step.most > 0:
			call += ", " + strconv.Itoa(step.most)
		}
		if step.result != "" {
			value := "v" + strconv.Itoa(len(values)+1)
			values = append(values, step.converted(value))
			left = value + ", " + left
		}
		if i == 0 || step.result != "" {
			assign = " := "
		}
		steps = append(steps, left+", ok"+assign+call+", "+ok+")")
		rest, ok = "rest", "ok"
	}
	format, library := strconv.Quote(s.format), p.Text(s.call.Fun.(*ast.SelectorExpr).X)
	params := s.params(library)
	var out strings.Builder
	fmt.Fprintf(&out, "// %s is %s.Sscanf with the format %s, and reads plain inputs itself.\n", name, library, format)
	fmt.Fprintf(&out, "func %s(s string, %s) (int, error) {\n%s\n", name, s.declared(params), strings.Join(steps, "\n"))
	targets := "*" + strings.Join(params, ", *")
	fmt.Fprintf(&out, "if ok {\n%s = %s\nreturn %d, nil\n}\n", targets, strings.Join(values, ", "), len(params))
	if !s.apart {
		fmt.Fprintf(&out, "return %s.Sscanf(s, %s, %s)\n}", library, format, strings.Join(params, ", "))
		return out.String()
	}
	// Sscanf keeps the addresses that it gets on the heap, so these are variables of this function.
	var held []string
	for i := range params {
		held = append(held, "w"+strconv.Itoa(i+1))
	}
	own := strings.Join(held, ", ")
	fmt.Fprintf(&out, "%s := %s\nn, err := %s.Sscanf(s, %s, &%s)\n%s = %s\nreturn n, err\n}", own, targets, library,
		format, strings.Join(held, ", &"), targets, own)
	return out.String()
}

// params names the operands as the call does, where such names are free in the new function.
func (s *scan) params(library string) (names []string) {
	for i, e := range s.call.Args[2:] {
		if u, ok := ast.Unparen(e).(*ast.UnaryExpr); ok {
			e = ast.Unparen(u.X)
		}
		if sel, ok := e.(*ast.SelectorExpr); ok {
			e = sel.Sel
		}
		id, ok := e.(*ast.Ident)
		name := ""
		if ok {
			name = edit.LowerFirst(id.Name)
		}
		known := token.IsKeyword(name) || types.Universe.Lookup(name) != nil
		used := strings.HasPrefix(name, "scan") || slices.Contains([]string{"rest", "err", library}, name)
		if len(name) < 3 || known || used || slices.Contains(names, name) {
			name = "p" + strconv.Itoa(i+1)
		}
		names = append(names, name)
	}
	return names
}

// declared writes the parameters with their types.
func (s *scan) declared(params []string) string {
	var out strings.Builder
	i, last := 0, ""
	for _, step := range s.steps {
		if step.result == "" {
			continue
		}
		switch {
		case i == 0:
		case step.result == last:
			out.WriteString(", ")
		default:
			out.WriteString(" *" + last + ", ")
		}
		out.WriteString(params[i])
		last = step.result
		i++
	}
	return out.String() + " *" + last
}

// converted writes the value of a step as one of the variable's type.
func (s scanStep) converted(value string) string {
	same := map[string]string{"ScanInt": "int64", "ScanDigits": "uint64", "ScanHex": "uint64", "ScanWord": "string",
		"ScanFloat": "float64"}
	if same[s.helper] == s.result {
		return value
	}
	return s.result + "(" + value + ")"
}
