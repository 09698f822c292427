package verify

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// digests refuses equality by digest: values that are taken for equal because
// their hashes are. Honest tables compare the values themselves once the hashes
// agree. No test finds two that differ and hash alike, so the flow of data
// decides: what comes out of a hash function, or of a loop that mixes elements
// into a number, is a digest; a branch or a look-up that it decides needs a
// comparison of values behind it.
func digests(c *code, report func(ast.Node, string, string, string)) {
	d := &digestFlow{code: c, marked: map[any]bool{}}
	if c.ssaFuncs == nil {
		return // nothing could be analysed, which memory reports
	}
	for _, f := range c.ssaFuncs {
		d.enter(f)
	}
	for d.changed = true; d.changed; {
		d.changed = false
		for _, f := range d.fns {
			d.flow(f)
		}
	}
	for _, f := range d.fns {
		for _, in := range d.decisions(f) {
			var at ast.Node = c.fn
			if p := in.Pos(); p >= c.file.FileStart && p <= c.file.FileEnd {
				at = place(p)
			}
			report(at, "digest", "equality by digest", "values that differ may hash alike; compare the values themselves once their hashes agree")
		}
	}
}

// A digestFlow follows digests: through values, and through fields, elements
// and maps by their types.
type digestFlow struct {
	*code
	fns     []*ssa.Function
	marked  map[any]bool // values, and kinds of memory
	changed bool
}

// A cell is a kind of memory that may hold digests.
type cell struct {
	of    string // the type
	field int
}

func (d *digestFlow) enter(f *ssa.Function) {
	d.fns = append(d.fns, f)
	for _, g := range f.AnonFuncs {
		d.enter(g)
	}
}

func (d *digestFlow) mark(x any) {
	if !d.marked[x] {
		d.marked[x] = true
		d.changed = true
	}
}

// flow marks the digests of one function.
func (d *digestFlow) flow(f *ssa.Function) {
	for _, b := range f.Blocks {
		for _, in := range b.Instrs {
			d.step(f, in)
		}
	}
}

func (d *digestFlow) step(f *ssa.Function, in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Phi:
		if d.mixes(in) || d.any(in.Edges...) {
			d.mark(in)
		}
	case *ssa.BinOp:
		if !compares(in.Op) && d.any(in.X, in.Y) {
			d.mark(in)
		}
	case *ssa.Convert, *ssa.ChangeType, *ssa.Extract, *ssa.Slice, *ssa.Index, *ssa.Field:
		if v := in.(ssa.Value); !isText(v.Type()) && d.any(operand(in)) {
			d.mark(v)
		}
	case *ssa.UnOp:
		if in.Op == token.MUL && d.memory(in.X) || in.Op != token.MUL && d.any(in.X) {
			d.mark(in)
		}
	case *ssa.Store:
		if d.any(in.Val) {
			d.mark(cellOf(in.Addr))
		}
	case *ssa.MapUpdate:
		if d.any(in.Value) {
			d.mark(cell{types.TypeString(in.Map.Type(), nil), 0})
		}
	case *ssa.Lookup:
		if d.marked[cell{types.TypeString(in.X.Type(), nil), 0}] {
			d.mark(in)
		}
	case *ssa.Return:
		for _, r := range in.Results {
			if d.any(r) {
				d.mark(f)
			}
		}
	case *ssa.Call:
		d.call(in)
	}
}

func (d *digestFlow) call(in *ssa.Call) {
	fn := in.Call.StaticCallee()
	switch {
	case in.Call.IsInvoke():
		if in.Call.Method.Pkg() != nil && in.Call.Method.Pkg().Path() == "hash" && strings.HasPrefix(in.Call.Method.Name(), "Sum") {
			d.mark(in)
		}
	case fn == nil:
	case d.marked[fn] || isHash(fn):
		d.mark(in)
	default:
		for i, arg := range in.Call.Args {
			if i < len(fn.Params) && d.any(arg) {
				d.mark(fn.Params[i])
			}
			if fn.Pkg != nil && fn.Pkg.Pkg.Path() == "math/bits" && d.any(arg) {
				d.mark(in)
			}
		}
	}
}

// hashing are the packages whose functions make digests.
var hashing = set(`hash/fnv hash/crc32 hash/crc64 hash/adler32 hash/maphash crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512 crypto/hmac`)

func isHash(f *ssa.Function) bool {
	obj, ok := f.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || !hashing[obj.Pkg().Path()] {
		return false
	}
	for _, p := range []string{"Sum", "Checksum", "Update", "String", "Bytes", "Comparable"} {
		if strings.HasPrefix(obj.Name(), p) {
			return true
		}
	}
	return false
}

// mixes reports whether a loop folds elements into an integer so that more
// than one list of them gives the same: by a product with a factor that is no
// base of numbers, or by exclusive or with a shift or a rotation of itself.
func (d *digestFlow) mixes(phi *ssa.Phi) bool {
	b, ok := phi.Type().Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return false
	}
	for _, e := range phi.Edges {
		m := &mixing{phi: phi, seen: map[ssa.Value]bool{}}
		m.visit(e)
		if m.loop && m.mixed && m.element {
			return true
		}
	}
	return false
}

// A mixing looks at what the next value of a loop's number is made of.
type mixing struct {
	phi                  *ssa.Phi
	seen                 map[ssa.Value]bool
	loop, mixed, element bool
}

func (m *mixing) visit(v ssa.Value) {
	if v == ssa.Value(m.phi) {
		m.loop = true
		return
	}
	if m.seen[v] {
		return
	}
	m.seen[v] = true
	switch v := v.(type) {
	case *ssa.BinOp:
		if compares(v.Op) {
			return
		}
		m.mixed = m.mixed || v.Op == token.MUL && (factor(v.X) || factor(v.Y)) || v.Op == token.XOR && (m.shifted(v.X) || m.shifted(v.Y))
		m.visit(v.X)
		m.visit(v.Y)
	case *ssa.Convert:
		m.visit(v.X)
	case *ssa.Phi:
		for _, e := range v.Edges {
			m.visit(e)
		}
	case *ssa.UnOp:
		m.element = m.element || v.Op == token.MUL
		if v.Op != token.MUL {
			m.visit(v.X)
		}
	case *ssa.Lookup, *ssa.Index:
		m.element = true
	case *ssa.Extract:
		m.element = true
	case *ssa.Call:
		if fn := v.Call.StaticCallee(); fn != nil && fn.Pkg != nil && fn.Pkg.Pkg.Path() == "math/bits" {
			m.mixed = m.mixed || strings.HasPrefix(fn.Name(), "Rotate") || strings.HasPrefix(fn.Name(), "Mul")
		} else {
			m.element = true
		}
		for _, a := range v.Call.Args {
			m.visit(a)
		}
	}
}

// shifted reports whether v is a shift by a number of bits.
func (m *mixing) shifted(v ssa.Value) bool {
	s, ok := v.(*ssa.BinOp)
	if !ok {
		return false
	}
	switch s.Op {
	case token.SHL, token.SHR:
		return true
	case token.ADD, token.XOR, token.OR:
		return m.shifted(s.X) || m.shifted(s.Y)
	}
	return false
}

// factor reports whether v is a constant that no notation of numbers has as its
// base: those of hashes are odd and at least 31.
func factor(v ssa.Value) bool {
	k, ok := v.(*ssa.Const)
	if !ok || k.Value == nil || k.Value.Kind() != constant.Int {
		return false
	}
	u, exact := constant.Uint64Val(k.Value)
	return !exact || u >= 31 && u&1 == 1
}

func compares(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

func (d *digestFlow) any(vs ...ssa.Value) bool {
	for _, v := range vs {
		if v != nil && d.marked[v] {
			return true
		}
	}
	return false
}

func operand(in ssa.Instruction) ssa.Value { return *in.Operands(nil)[0] }

// memory reports whether the place at addr may hold a digest.
func (d *digestFlow) memory(addr ssa.Value) bool { return d.marked[cellOf(addr)] }

// cellOf is the kind of memory at an address: a variable by itself, a field by
// its struct, an element by its list.
func cellOf(addr ssa.Value) any {
	switch a := addr.(type) {
	case *ssa.FieldAddr:
		return cell{types.TypeString(a.X.Type(), nil), a.Field}
	case *ssa.IndexAddr:
		if u, ok := a.X.(*ssa.Alloc); ok {
			return cellOf(u)
		}
		return cell{types.TypeString(a.X.Type(), nil), 0}
	}
	return addr
}

func isText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// decisions are the places of a function where a digest decides and no
// comparison of values follows.
func (d *digestFlow) decisions(f *ssa.Function) []ssa.Instruction {
	var out []ssa.Instruction
	probed := d.probes(f)
	for _, b := range f.Blocks {
		for _, in := range b.Instrs {
			_, equality := in.(*ssa.BinOp)
			if d.decides(in) && (equality || !probed) && !d.verified(b, in) {
				out = append(out, in)
			}
		}
	}
	return out
}

// probes reports whether a function compares what a table holds at a digest
// with the value that it looks for.
func (d *digestFlow) probes(f *ssa.Function) bool {
	for _, b := range f.Blocks {
		for _, in := range b.Instrs {
			if !d.comparesValues(in) {
				continue
			}
			for _, op := range in.Operands(nil) {
				if d.fromTable(*op, 0) {
					return true
				}
			}
		}
	}
	return false
}

// maxSteps bounds the way from a comparison back to the table.
const maxSteps = 12

// fromTable reports whether v was read from a table at a digest.
func (d *digestFlow) fromTable(v ssa.Value, steps int) bool {
	in, ok := v.(ssa.Instruction)
	if !ok || steps > maxSteps {
		return false
	}
	switch in := in.(type) {
	case *ssa.IndexAddr:
		if d.any(in.Index) {
			return true
		}
	case *ssa.Lookup:
		if d.any(in.Index) {
			return true
		}
	case *ssa.Index:
		if d.any(in.Index) {
			return true
		}
	}
	for _, op := range in.Operands(nil) {
		if *op != nil && d.fromTable(*op, steps+1) {
			return true
		}
	}
	return false
}

func (d *digestFlow) decides(in ssa.Instruction) bool {
	switch in := in.(type) {
	case *ssa.BinOp:
		return (in.Op == token.EQL || in.Op == token.NEQ) && (d.any(in.X) && (d.any(in.Y) || telling(in.Y)) || d.any(in.Y) && telling(in.X))
	case *ssa.Lookup:
		return isMap(in.X.Type()) && d.any(in.Index)
	case *ssa.IndexAddr:
		return d.any(in.Index) && d.branches(in)
	case *ssa.Index:
		return d.any(in.Index) && isText(in.Type())
	case *ssa.Call:
		fn := in.Call.StaticCallee()
		if fn == nil || fn.Object() == nil {
			return false
		}
		switch objectName(fn.Object()) {
		case "bytes.Equal", "crypto/hmac.Equal", "slices.Equal", "crypto/subtle.ConstantTimeCompare":
			return d.any(in.Call.Args...)
		}
	}
	return false
}

// telling reports whether a constant is more than zero: a digest that equals
// one tells which value it is of.
func telling(v ssa.Value) bool {
	k, ok := v.(*ssa.Const)
	if !ok {
		return false
	}
	u, exact := uint64(0), false
	if k.Value != nil && k.Value.Kind() == constant.Int {
		u, exact = constant.Uint64Val(k.Value)
	}
	return !exact || u > 1<<16
}

// branches reports whether what an index reads is a truth value or a count that
// a branch asks for.
func (d *digestFlow) branches(at *ssa.IndexAddr) bool {
	for _, ref := range *at.Referrers() {
		load, ok := ref.(*ssa.UnOp)
		if !ok || load.Op != token.MUL {
			continue
		}
		if isText(load.Type()) {
			return true
		}
		for _, use := range *load.Referrers() {
			if cmp, ok := use.(*ssa.BinOp); ok && compares(cmp.Op) {
				return true
			}
			if and, ok := use.(*ssa.BinOp); ok && and.Op == token.AND {
				return true
			}
		}
	}
	return false
}

// verified reports whether values are compared after a decision.
func (d *digestFlow) verified(from *ssa.BasicBlock, after ssa.Instruction) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(b *ssa.BasicBlock, begin int) bool
	visit = func(b *ssa.BasicBlock, begin int) bool {
		for _, in := range b.Instrs[begin:] {
			if d.comparesValues(in) {
				return true
			}
		}
		for _, s := range b.Succs {
			if !seen[s] && from.Dominates(s) {
				seen[s] = true
				if visit(s, 0) {
					return true
				}
			}
		}
		return false
	}
	for i, in := range from.Instrs {
		if in == after {
			return visit(from, i+1)
		}
	}
	return false
}

// comparesValues reports whether an instruction compares two values that are no
// digests: texts, lists, elements.
func (d *digestFlow) comparesValues(in ssa.Instruction) bool {
	switch in := in.(type) {
	case *ssa.BinOp:
		if in.Op != token.EQL && in.Op != token.NEQ || d.any(in.X, in.Y) {
			return false
		}
		if b, ok := in.X.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString == 0 {
			return isElement(in.X) && isElement(in.Y)
		}
		_, x := in.X.(*ssa.Const)
		_, y := in.Y.(*ssa.Const)
		return in.X.Type().Underlying() != nil && (!x && !y || isTexts(in.X.Type()))
	case *ssa.Call:
		fn := in.Call.StaticCallee()
		if fn == nil || d.any(in.Call.Args...) {
			return false
		}
		for _, p := range []string{"Equal", "EqualFold", "Compare", "HasPrefix", "EqualFunc", "Contains", "Index"} {
			if fn.Name() == p || fn.Origin() != nil && fn.Origin().Name() == p {
				return true
			}
		}
		return d.comparesInside(fn)
	}
	return false
}

func isTexts(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// isElement reports whether v was read from a list, a text or memory.
func isElement(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.UnOp:
		return v.Op == token.MUL
	case *ssa.Lookup, *ssa.Index, *ssa.Field, *ssa.Extract, *ssa.Parameter:
		return true
	case *ssa.Convert:
		return isElement(v.X)
	}
	return false
}

// comparesInside reports whether a function of the file, which answers yes or
// no, compares values.
func (d *digestFlow) comparesInside(fn *ssa.Function) bool {
	if fn.Signature.Results().Len() != 1 || !isText(fn.Signature.Results().At(0).Type()) || fn.Pkg == nil || fn.Pkg.Pkg != d.pkg {
		return false
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if op, ok := in.(*ssa.BinOp); ok && d.comparesValues(op) {
				return true
			}
		}
	}
	return false
}
