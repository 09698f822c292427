package branches

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// This file finds how large a table of answers must be: for which numbers a function asks, and what
// the answers need.

// findResults reads the constants of all returns.
func (a *answers) findResults(p *mutate.Pass) bool {
	results := p.Info.Defs[a.fn.Name].(*types.Func).Signature().Results()
	if results.Len() == 0 || results.Len() > len(fieldNames) {
		return false
	}
	// A bare return gives the values of named results, which are not known here.
	var returns []*ast.ReturnStmt
	for _, r := range mutate.Nodes[*ast.ReturnStmt](p, a.fn.Body) {
		if len(r.Results) != results.Len() {
			return false
		}
		returns = append(returns, r)
	}
	// A column of the table holds one result. Its type must mean the same at the switch and at
	// package level, where the table is declared.
	for i := range results.Len() {
		t := results.At(i).Type()
		text, ok := facts.TypeText(p, t)
		if !ok || !facts.TypeMeans(p, a.fn.Body.Lbrace+1, t) || !facts.TypeMeans(p, a.fn.Pos(), t) {
			return false
		}
		// Only constants fit into a table that is filled before the first call.
		var values []constant.Value
		for _, r := range returns {
			v := p.Info.Types[r.Results[i]].Value
			if v == nil {
				return false
			}
			values = append(values, v)
		}
		stored := storedType(t, values)
		if stored == "" {
			return false
		}
		// An unnamed result takes a default name, unless a named one has that name already.
		field := results.At(i).Name()
		if field == "" || field == "_" {
			field = fieldNames[i]
		}
		if slices.ContainsFunc(a.results, func(r answer) bool { return r.field == field }) {
			return false
		}
		a.results = append(a.results, answer{typ: text, stored: stored, field: field})
	}
	return true
}

// storedType is the smallest type that holds constants of a type, or "".
func storedType(t types.Type, values []constant.Value) string {
	b, ok := t.Underlying().(*types.Basic)
	if !ok || syntax.IsTypeParam(t) {
		return ""
	}
	switch {
	case b.Info()&types.IsBoolean != 0:
		return "bool"
	case b.Info()&types.IsString != 0:
		return "string"
	case b.Info()&types.IsInteger == 0:
		return ""
	}
	// Try the types from the smallest on: a smaller table stays in the cache.
	for i, kind := range []types.BasicKind{types.Int8, types.Int16, types.Int32, types.Int64} {
		if !slices.ContainsFunc(values, func(v constant.Value) bool { return !syntax.FitsIn(v, types.Typ[kind]) }) {
			return []string{"int8", "int16", "int32", "int64"}[i]
		}
	}
	return ""
}

// size is about the number of bytes of an entry.
func (a *answers) size() (n int64) {
	for _, r := range a.results {
		n += map[string]int64{"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "string": 16}[r.stored]
	}
	return n
}

// findSizes reads the numbers that the function asks for.
func (a *answers) findSizes(p *mutate.Pass) bool {
	asked := make([][]int64, len(a.keys))
	// A constant k is in reach of a table with k+1 entries, hence the callers' more of 1. One
	// constant of a packed tag speaks of several keys; part is -1 for a key that it does not
	// restrict.
	note := func(tag ast.Expr, value ast.Expr, more int64) {
		n, ok := p.Int(value)
		if !ok {
			return
		}
		for i, part := range packedParts(p, tag).of(a.keys, n) {
			if part >= 0 {
				asked[i] = append(asked[i], part+more)
			}
		}
	}
	questions := 0
	// Each case and each comparison is one question. A switch without a tag asks by its
	// comparisons, so its cases count but set no size.
	for _, n := range mutate.Nodes[ast.Node](p, a.fn.Body) {
		// A comparison asks in both directions: the constant may stand on either side.
		switch n := n.(type) {
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					questions++
					if n.Tag != nil {
						note(n.Tag, e, 1)
					}
				}
			}
		case *ast.BinaryExpr:
			if _, ok := edit.Opposite[n.Op]; ok {
				questions++
				note(n.X, n.Y, 1)
				note(n.Y, n.X, 1)
			}
		}
	}
	// The table has one entry for each combination of the keys, so the sizes multiply. A key with a
	// single value decides nothing.
	entries := int64(1)
	for _, list := range asked {
		size := tableSize(list)
		if size < 2 {
			return false
		}
		a.sizes, entries = append(a.sizes, size), entries*size
	}
	return questions >= fewestAnswers && entries*a.size() <= maxTableSize
}

// tableSize is the smallest size that has room for most of the numbers that a function asks for, or
// 0 if that is too large.
func tableSize(asked []int64) int64 {
	if len(asked) == 0 {
		return 0
	}
	inorder.Sort(asked)
	// If all fit, there is an answer for every number.
	if top := asked[len(asked)-1]; top <= maxAnswers {
		return top
	}
	at := slices.IndexFunc(asked, func(n int64) bool { return n > maxAnswers })
	// A table that more than a quarter of the questions miss is not worth its look-up.
	if at*4 < len(asked)*3 {
		return 0
	}
	return asked[at-1]
}

// A packed is a number that is put together from others by shifts: in order from the lowest.
type packed []packedPart

type packedPart struct {
	v     *types.Var
	shift int64
}

// packedParts reads `v`, `v | w<<8` and `v*256 + w`, with conversions between integers.
func packedParts(p *mutate.Pass, e ast.Expr) packed {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := p.Var(e); v != nil {
			return packed{{v: v}}
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 && p.Info.Types[e.Fun].IsType() && syntax.IsInteger(p.Info.TypeOf(e.Fun)) {
			return packedParts(p, e.Args[0])
		}
	case *ast.BinaryExpr:
		switch e.Op {
		// Parts that do not overlap are joined by each of the three in the same way.
		case token.OR, token.ADD, token.XOR:
			both := slices.Concat(packedParts(p, e.X), packedParts(p, e.Y))
			inorder.By(both, func(a, b packedPart) int { return int(a.shift - b.shift) })
			return both
		case token.SHL:
			if n, ok := p.Int(e.Y); ok {
				return packedParts(p, e.X).up(n)
			}
		case token.MUL:
			// Only a power of two shifts; another factor mixes the bits of the parts.
			for n := range int64(33) {
				if p.IsInt(e.Y, 1<<n) {
					return packedParts(p, e.X).up(n)
				}
			}
		}
	}
	return nil
}

func (s packed) up(n int64) packed {
	for i := range s {
		s[i].shift += n
	}
	return s
}

// of takes a number apart: the values of keys, or -1 for those that are no part of it.
// With kind | mode<<8 and the keys kind and mode, 0x0203 is 3 and 2.
func (s packed) of(keys []*types.Var, n int64) []int64 {
	out := make([]int64, len(keys))
	for k, v := range keys {
		out[k] = -1
		i := slices.IndexFunc(s, func(part packedPart) bool { return part.v == v })
		if i < 0 || n < 0 {
			continue
		}
		// A part ends where the next one begins.
		out[k] = n >> s[i].shift
		if i+1 < len(s) {
			out[k] &= 1<<(s[i+1].shift-s[i].shift) - 1
		}
	}
	return out
}
