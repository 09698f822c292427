package verify

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// digests refuses equality by digest: code that takes two values for equal because their hashes are
// equal. No test finds two values that differ and hash alike, so this rule reads the flow of data.
//
// A digest is a number that a loop or a recursion folds any number of elements into, or the result
// of a hash function. A hash mixes its elements: it multiplies, rotates, shifts, xors or reduces
// them. A sum only adds, multiplies or xors elements. Counts, extremes, sets of bits, positions and
// numbers in some notation are not digests. A digest stays one in variables, fields, lists, maps,
// closures, calls and arithmetic.
//
// A function may return digests, but it may not decide by them. It decides by a digest when it
// compares two, looks something up by one, or hands one to a library function that compares or
// sorts. A decision is fine if every path from its equal side compares the elements too, or if its
// other side only stores one of the two numbers where the other one is: then both sides leave the
// same.
func digests(c *code, report reporter) {
	if c.ssaFuncs == nil {
		return // the analysis failed; memory reports that
	}
	d := newDigestFlow(c)
	d.findDifferences()
	for _, found := range d.decisions() {
		var at ast.Node = c.fn
		if p := found.in.Pos(); p >= c.file.FileStart && p <= c.file.FileEnd {
			at = place(p)
		}
		key := digestKey
		if found.by == weak {
			key = sumKey
		}
		report(at, key, "equality by digest",
			"values that differ may hash alike; compare the values themselves once their hashes agree")
	}
	c.decidesBySums = d.decidesBySums()
}

// These keys name the two kinds of digests. An original that decides by one kind excuses it.
const (
	digestKey = "digest"
	sumKey    = "digest sum"
)

// hashing lists packages whose functions make digests.
var hashing = set(
	`hash hash/fnv hash/crc32 hash/crc64 hash/adler32 hash/maphash crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512 crypto/hmac`)

// makesDigest reports whether a call of the library yields a digest.
func makesDigest(call *ssa.CallCommon) bool {
	obj := call.Method
	if fn := call.StaticCallee(); fn != nil {
		obj, _ = fn.Object().(*types.Func)
	}
	if obj == nil || obj.Pkg() == nil || !hashing[obj.Pkg().Path()] {
		return false
	}
	for _, p := range []string{"Sum", "Checksum", "Update", "String", "Bytes", "Comparable"} {
		if strings.HasPrefix(obj.Name(), p) {
			return true
		}
	}
	return false
}

// A decision is an instruction whose outcome depends on a digest.
type decision struct {
	in ssa.Instruction
	by depth
}

// decisions returns the instructions that decide by a digest without a comparison of elements.
func (d *digestFlow) decisions() (out []decision) {
	looked := d.lookedUp()
	d.each(func(_ *ssa.Function, in ssa.Instruction) {
		by, settled := none, true
		// A comparison decides, and so does a look-up by a digest, in a map or in a list.
		switch in := in.(type) {
		case *ssa.BinOp:
			by = d.compared(in)
			settled = by == none || d.settlesComparison(in) || sparesStore(in)
		case *ssa.Lookup:
			if syntax.Is[*types.Map](in.X.Type()) {
				by = d.depthOf(in.Index)
				settled = by == none || d.settlesLookup(in, in.Index)
			}
		case *ssa.IndexAddr:
			if by = d.level[in.Index]; by == strong {
				settled = d.settlesLookup(in, in.Index)
			}
		case *ssa.Index:
			if by = d.level[in.Index]; by == strong {
				settled = d.settlesLookup(in, in.Index)
			}
		// Only a look-up makes an entry under a digest decide.
		case *ssa.MapUpdate:
			if by = d.depthOf(in.Key); by != none {
				// without a look-up only the number of entries matters, and digests decide it
				settled = looked[d.lies(in.Map)]
			}
		case *ssa.Call:
			if by = d.depthAsked(in); by != none {
				settled = false
			}
		}
		if !settled {
			out = append(out, decision{in, by})
		}
	})
	return out
}

// lookedUp returns the maps that some look-up reads.
func (d *digestFlow) lookedUp() map[*object]bool {
	out := map[*object]bool{}
	d.each(func(_ *ssa.Function, in ssa.Instruction) {
		if l, ok := in.(*ssa.Lookup); ok && syntax.Is[*types.Map](l.X.Type()) {
			out[d.lies(l.X)] = true
		}
	})
	return out
}

// depthOf returns how well the digest in v mixes, or none. A value that holds only digests counts
// as one.
func (d *digestFlow) depthOf(v ssa.Value) depth {
	if how := d.level[v]; how != none {
		return how
	}
	if _, constant := v.(*ssa.Const); constant || !leadsToMemory(v.Type()) {
		return none
	}
	return d.depthOfMemory(v.Type(), d.lies(v), 0)
}

// depthOfMemory is depthOf for memory: the deepest digest in its parts.
func (d *digestFlow) depthOfMemory(t types.Type, o *object, steps int) depth {
	how := d.level[o.find()]
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i).Type()
			if syntax.IsText(f) && d.level[o.part(i)] == none {
				return none // the comparison covers the value itself too
			}
			if steps < maxSteps {
				how = max(how, d.depthOfMemory(f, o.part(i), steps+1))
			}
		}
	case *types.Array:
		how = max(how, d.level[o.part(elementPart)])
	case *types.Interface:
		how = max(how, d.level[o.part(elementPart)])
	}
	return how
}

// compared returns which kind of digest a comparison compares.
func (d *digestFlow) compared(in *ssa.BinOp) depth {
	if !compares(in.Op) {
		return none
	}
	x, y := d.depthOf(in.X), d.depthOf(in.Y)
	both := x != none && y != none && !d.sameNumber(in.X, in.Y)
	_, constX := in.X.(*ssa.Const)
	_, constY := in.Y.(*ssa.Const)
	switch {
	case constX && d.differences[in.Y]:
		return y
	case constY && d.differences[in.X]:
		return x
	case x == strong && revealsInput(in.Y):
		return strong
	case y == strong && revealsInput(in.X):
		return strong
	case !both:
		return none
	case in.Op == token.EQL || in.Op == token.NEQ:
		return max(x, y)
	case x == strong && y == strong && syntax.IsInteger(in.X.Type()):
		return strong
	}
	return none
}

// sameNumber reports whether two numbers differ by one step of arithmetic only: a number and its
// earlier or later value.
func (d *digestFlow) sameNumber(x, y ssa.Value) bool {
	return d.text(x, 0) == d.text(y, 0) || d.isMadeOf(x, y, 0) || d.isMadeOf(y, x, 0)
}

// isMadeOf reports whether x comes from y in a few steps of arithmetic.
func (d *digestFlow) isMadeOf(x, y ssa.Value, steps int) bool {
	if x == y {
		return true
	}
	in, ok := x.(ssa.Instruction)
	if !ok || steps > 3 {
		return false
	}
	switch in.(type) {
	case *ssa.BinOp, *ssa.Convert:
		for _, op := range in.Operands(nil) {
			if d.isMadeOf(*op, y, steps+1) {
				return true
			}
		}
	}
	return false
}

// findDifferences finds the values that are zero when two digests agree.
func (d *digestFlow) findDifferences() {
	found := map[node]depth{}
	d.each(func(_ *ssa.Function, in ssa.Instruction) {
		b, ok := in.(*ssa.BinOp)
		if !ok || b.Op != token.SUB && b.Op != token.XOR || d.level[b.X] == none || d.level[b.Y] == none {
			return
		}
		if d.rough[b] == 0 && !d.sameNumber(b.X, b.Y) {
			found[b] = strong
		}
	})
	d.spread(found, d.flows)
	d.differences = map[node]bool{}
	for n := range found {
		d.differences[n] = true
	}
}

// revealsInput reports whether a value reveals which values hash to it: a constant above any count,
// or an entry of a table in the file.
func revealsInput(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value == nil || v.Value.Kind() != constant.Int {
			return v.Value == nil && !leadsToMemory(v.Type())
		}
		u, exact := constant.Uint64Val(v.Value)
		return !exact || u > 1<<16
	case *ssa.Convert:
		return revealsInput(v.X)
	case *ssa.UnOp:
		return v.Op == token.MUL && fromGlobal(v.X)
	case *ssa.Index:
		return fromGlobal(v.X)
	}
	return false
}

// fromGlobal reports whether an address lies in a package variable.
func fromGlobal(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Global:
		return true
	case *ssa.IndexAddr:
		return fromGlobal(v.X)
	case *ssa.FieldAddr:
		return fromGlobal(v.X)
	case *ssa.UnOp:
		return fromGlobal(v.X)
	}
	return false
}

// deciding lists packages whose functions compare, search or sort their arguments.
var deciding = set(`slices sort bytes strings cmp maps reflect crypto/subtle crypto/hmac`)

// movingFunctions lists the functions of those packages that only move their arguments.
var movingFunctions = set(`Clone Grow Clip Insert Delete Reverse Concat Repeat All Values Collect Copy Keys Append`)

// depthAsked returns which kind of digest a library function decides by.
func (d *digestFlow) depthAsked(in *ssa.Call) (how depth) {
	fn := in.Call.StaticCallee()
	if fn == nil || d.ownFuncs[fn] || !deciding[packageOf(fn)] || movingFunctions[fn.Object().Name()] {
		return none
	}
	for _, arg := range in.Call.Args {
		how = max(how, d.depthOf(arg))
		if s, ok := arg.Type().Underlying().(*types.Slice); ok {
			how = max(how, d.depthOfMemory(s.Elem(), d.lies(arg).part(elementPart), 0))
		}
	}
	return how
}

// decidesBySums reports whether any decision depends on a digest, of either kind. An original for
// which it holds excuses decisions by sums.
func (d *digestFlow) decidesBySums() (found bool) {
	d.each(func(_ *ssa.Function, in ssa.Instruction) {
		switch in := in.(type) {
		case *ssa.BinOp:
			found = found || compares(in.Op) && (d.depthOf(in.X) != none || d.depthOf(in.Y) != none)
		case *ssa.Lookup:
			found = found || d.depthOf(in.Index) != none
		case *ssa.MapUpdate:
			found = found || d.depthOf(in.Key) != none
		case *ssa.Call:
			found = found || d.depthAsked(in) != none
		}
	})
	return found
}

// compares reports whether an operator compares.
func compares(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

func firstOperand(in ssa.Instruction) ssa.Value { return *in.Operands(nil)[0] }

func isTruth(t types.Type) bool { return syntax.Has(t, types.IsBoolean) }
