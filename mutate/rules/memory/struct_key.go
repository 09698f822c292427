package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
	"github.com/beagle-go/beagle/mutate/rules/internal/formats"
)

// structKey (part of catalogue M4, and the second half of S11) matches a local map whose string
// keys are put together from numbers and strings. It declares a struct of the parts as the key.
var structKey = &mutate.Mutator{
	Name: "struct-key",
	Doc: "Use the parts of a composite map key as a struct instead of writing them into a string for every look-up. " +
		"It saves formatting, the string and hashing its text. Legal because the map never leaves the function and " +
		"its keys are never read back, and the text names its parts without doubt: a separator follows " +
		"each number, and a string comes only at the end.",
	Example: mutate.Shows(`seen := map[string]int{}
for _, e := range events {
	seen[strconv.Itoa(e.Host)+":"+e.Name]++
}`,
		`seen := map[seenKey]int{}
for _, e := range events {
	seen[seenKey{e.Host, e.Name}]++
}

type seenKey struct {
	a int
	b string
}`),
	Class:   beagle.E0,
	Gain:    2,
	Find:    findStructKey,
	Rewrite: edit.Precomputed,
}

// findStructKey looks for maps with texts as keys that are put together from parts.
func findStructKey(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || facts.Captured.Of(p)[d.Var] || p.FuncOf(d.Stmt) == nil {
			continue
		}
		// Keys are compared by their parts from now on, so they must be texts that code puts
		// together.
		m, ok := d.Var.Type().(*types.Map)
		if !ok || !syntax.IsPredeclared(m.Key(), types.String) || !emptyMap(p, d) {
			continue
		}
		if edits := structKeyEdits(p, d, m); edits != nil {
			sites = append(sites, edit.Site(d.Stmt, "keys of "+d.Var.Name(), edits...))
		}
	}
	return sites
}

// structKeyEdits rewrites every use of the map. It returns nil if a use needs the text of a key, or
// if the keys do not all have the same parts.
func structKeyEdits(p *mutate.Pass, d facts.Declaration, m *types.Map) []mutate.Edit {
	name := p.Fresh(d.Var.Name()+"Key", d.Var.Name()+"Parts")
	var shape []string
	var edits []mutate.Edit
	locals := map[*types.Var]bool{}
	// Each use gives the key that it looks up, as an expression or as a variable with one
	// definition.
	for _, id := range p.Uses(d.Var, p.File) {
		key, ok := keyOfUse(p, id)
		if !ok {
			return nil
		}
		if key == nil {
			continue // len, or a range over the elements
		}
		if v := p.Var(key); v != nil {
			decl, ok := keyVariable(p, v, d.Var)
			if !ok {
				return nil
			}
			// Two uses of one variable have one definition to rewrite.
			if locals[v] {
				continue
			}
			locals[v] = true
			key = decl.Value
		}
		// The keys of all uses must have the same parts and separators: only then are two structs
		// equal exactly if the texts were.
		text, types := structParts(p, key)
		if types == nil || shape != nil && strings.Join(shape, ";") != strings.Join(types, ";") {
			return nil
		}
		shape = types
		edits = append(edits, p.Replace(key, name+"{"+text+"}"))
	}
	if shape == nil {
		return nil
	}
	// The fields are a, b, c in the order of the parts.
	var fields strings.Builder
	for i, t := range shape {
		typ, _, _ := strings.Cut(t, "|")
		fmt.Fprintf(&fields, "%c %s\n", 'a'+i, typ)
	}
	return append(edits,
		p.Declare(d.Stmt,
			fmt.Sprintf("// %s is a key of %s: what was a text of its parts.\ntype %s struct {\n%s}", name,
				d.Var.Name(), name, fields.String())),
		p.Replace(mapTypeOf(p, d).Key, name))
}

// keyOfUse returns the key that a use looks up. It returns nil and true if the use has no key.
func keyOfUse(p *mutate.Pass, id *ast.Ident) (ast.Expr, bool) {
	switch up := p.Parent(id).(type) {
	case *ast.IndexExpr:
		if up.X == ast.Expr(id) {
			return up.Index, true
		}
	case *ast.CallExpr:
		b, ok := p.Callee(up).(*types.Builtin)
		// Deleting looks up as well; the length and clearing need no key.
		if ok && b.Name() == "delete" && up.Args[0] == ast.Expr(id) {
			return up.Args[1], true
		}
		return nil, ok && (b.Name() == "len" || b.Name() == "clear")
	case *ast.RangeStmt:
		return nil, up.X == ast.Expr(id) && syntax.IsBlank(up.Key)
	}
	return nil, false
}

// keyVariable returns the declaration of a variable that is only a key of the map.
func keyVariable(p *mutate.Pass, v, m *types.Var) (d facts.Declaration, ok bool) {
	// The variable must keep the value of its declaration, and be nothing but a key: its type
	// changes.
	if facts.Captured.Of(p)[v] || !facts.IsLocal(p, v) || p.Assigned(v, p.File) {
		return d, false
	}
	for _, id := range p.Uses(v, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if up.Index != ast.Expr(id) || p.Var(up.X) != m {
				return d, false
			}
		case *ast.CallExpr:
			if _, isDelete := p.IsBuiltin(up, "delete"); !isDelete || p.Var(up.Args[0]) != m ||
				up.Args[1] != ast.Expr(id) {
				return d, false
			}
		default:
			return d, false
		}
	}
	// The declaration is looked for in all lists of statements.
	for list, i := range facts.Statements(p) {
		if d, ok := facts.Declares(p, list[i]); ok && d.Var == v {
			// A declared type would have to change as well, so only a short declaration will do.
			return d, d.Value != nil && d.Type == nil
		}
	}
	return d, false
}

// structParts takes a key apart into the struct's elements and their types, each with the text
// after it: "int|:". It returns nil if two different keys could have one text.
func structParts(p *mutate.Pass, key ast.Expr) (text string, shape []string) {
	// The pieces of a text alternate between fixed texts and arguments.
	pieces := piecesOf(p, key)
	var parts []string
	for i, q := range pieces {
		if q.Arg == nil {
			if i == 0 {
				return "", nil // a prefix is harmless, and rare
			}
			continue
		}
		// Two texts are equal only if all parts are, as long as the end of each part shows:
		// a separator must follow that no number can contain, and a text could contain the
		// separator that follows it.
		sep := ""
		if i+1 < len(pieces) {
			if sep = pieces[i+1].Text; sep == "" || sep[0] >= '0' && sep[0] <= '9' {
				return "", nil // two parts without a separator
			}
		}
		t, ok := partType(p, q.Arg)
		if !ok || isPlainString(t) && sep != "" {
			return "", nil // the string may contain the separator
		}
		// The type of a part and the separator after it are the shape.
		name, ok := facts.TypeText(p, t)
		if !ok {
			return "", nil
		}
		parts, shape = append(parts, p.Text(q.Arg)), append(shape, name+"|"+sep)
	}
	if len(parts) < 2 || len(parts) > 8 {
		return "", nil
	}
	return strings.Join(parts, ", "), shape
}

func isPlainString(t types.Type) bool { return syntax.PlainKind(t)&types.IsString != 0 }

// partType returns the type of a part whose text and value say the same: an integer or a string.
func partType(p *mutate.Pass, e ast.Expr) (types.Type, bool) {
	t := p.Info.TypeOf(e)
	b, ok := t.(*types.Basic)
	return t, ok && b.Info()&types.IsUntyped == 0 && b.Info()&(types.IsInteger|types.IsString) != 0 &&
		!p.Effects(e).Writes
}

// piecesOf reads a concatenation of strings and formatted integers, or a Sprintf of them.
func piecesOf(p *mutate.Pass, key ast.Expr) []formats.Piece {
	// A format is read by the parser of sprintf. Only verbs that print the plain value are parts.
	if call, ok := p.IsCall(key, "fmt", "Sprintf"); ok && !call.Ellipsis.IsValid() {
		pieces := formats.Parse(p, call.Args)
		for _, q := range pieces {
			if q.Arg != nil && (!q.Bare() || !strings.ContainsRune("dsv", rune(q.Verb))) {
				return nil // the same number has another text elsewhere
			}
		}
		if args, plain := formats.Plain(p, pieces); !plain || args == 0 {
			return nil
		}
		return pieces
	}
	// A sum alternates texts and numbers.
	b, ok := ast.Unparen(key).(*ast.BinaryExpr)
	if !ok || b.Op != token.ADD {
		return nil
	}
	var out []formats.Piece
	for _, op := range syntax.Operands(b, token.ADD) {
		op = ast.Unparen(op)
		if s, ok := facts.ConstString(p, op); ok {
			out = append(out, formats.Piece{Text: s})
			continue
		}
		out = append(out, formats.Piece{Arg: numberOf(p, op)})
	}
	return formats.Join(out)
}

// numberOf returns the integer that strconv writes in decimal, or the expression itself.
func numberOf(p *mutate.Pass, e ast.Expr) ast.Expr {
	if call, ok := p.IsCall(e, "strconv", "Itoa"); ok {
		return narrowKey(p, call.Args[0])
	}
	if call, ok := p.IsCall(e, "strconv", "FormatInt", "FormatUint"); ok && p.IsInt(call.Args[1], 10) {
		return narrowKey(p, call.Args[0])
	}
	return e
}

// narrowKey removes a conversion that loses nothing, because comparing and hashing a smaller key is
// faster.
func narrowKey(p *mutate.Pass, e ast.Expr) ast.Expr {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !p.Info.Types[call.Fun].IsType() || p.Info.Types[call.Args[0]].Value != nil {
		return e
	}
	from, ok1 := p.Info.TypeOf(call.Args[0]).(*types.Basic)
	to, ok2 := p.Info.TypeOf(call).(*types.Basic)
	if !ok1 || !ok2 || from.Info()&types.IsInteger == 0 || to.Info()&types.IsInteger == 0 {
		return e
	}
	sizes := types.SizesFor("gc", "amd64")
	wider, fromSign, toSign := sizes.Sizeof(to)-sizes.Sizeof(from), from.Info()&types.IsUnsigned == 0,
		to.Info()&types.IsUnsigned == 0
	// Each value must stay different from the others after the narrowing.
	if wider > 0 && toSign || wider > 0 && !fromSign || wider == 0 && fromSign == toSign {
		return call.Args[0]
	}
	return e
}
