package verify

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A node carries numbers: an [ssa.Value], an [*object], or a [result].
type node any

// A digestFlow follows digests through values, memory, calls and results of one version.
type digestFlow struct {
	*code
	fns      []*ssa.Function
	ownFuncs map[*ssa.Function]bool
	objects  map[ssa.Value]*object
	results  map[result]*object
	helped   *helpers // of the rest of the package; may be nil

	flows map[node][]node // where a number goes, by itself or as part of another
	turns map[node][]node // the flows on which a loop may accumulate
	loops map[node]int    // nodes with the same number lie on one cycle of turns
	rough map[node]int    // likewise, with all elements of a list taken as one

	elements map[node]depth
	level    map[node]depth

	differences map[node]bool // zero when two digests agree
}

// A depth says how much of a list a number depends on, or how well it mixes.
type depth int

const (
	none   depth = iota
	weak         // of an element: a library function's account of it; of a digest: a sum
	strong       // of an element: the element itself; of a digest: a hash
)

// newDigestFlow analyses one version. It first finds out which values lead to the same memory
// (place), then where numbers go (flow). Numbers that run in circles are accumulators: with each
// memory cell apart in loops, with all elements of a list as one in rough. spread marks the values
// that hold elements of the input. folds finds the accumulators that mix elements into digests, and
// carries their results on.
func newDigestFlow(c *code) *digestFlow {
	d := &digestFlow{code: c, ownFuncs: map[*ssa.Function]bool{}, objects: map[ssa.Value]*object{},
		results: map[result]*object{}, helped: c.restFacts(),
		flows: map[node][]node{}, turns: map[node][]node{}, elements: map[node]depth{}, level: map[node]depth{}}
	for _, f := range c.ssaFuncs {
		d.enter(f)
	}
	d.each(d.place)
	d.each(d.flow)
	rough := map[node][]node{}
	for from, to := range d.flows {
		rough[from] = to
	}
	d.loops, d.rough = cycles(d.turns), cycles(rough)
	d.spread(d.elements, d.flows)
	d.folds()
	return d
}

// enter adds a function with its closures.
func (d *digestFlow) enter(f *ssa.Function) {
	if d.ownFuncs[f] {
		return
	}
	d.ownFuncs[f] = true
	d.fns = append(d.fns, f)
	for _, g := range f.AnonFuncs {
		d.enter(g)
	}
}

// each walks over the instructions of all functions.
func (d *digestFlow) each(do func(*ssa.Function, ssa.Instruction)) {
	for _, f := range d.fns {
		for _, b := range f.Blocks {
			for _, in := range b.Instrs {
				do(f, in)
			}
		}
	}
}

// spread carries depths along the flow to every node that they reach.
func (d *digestFlow) spread(of map[node]depth, along map[node][]node) {
	var work []node
	for n := range of {
		work = append(work, n)
	}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for _, to := range along[n] {
			if of[to] < of[n] {
				of[to] = of[n]
				work = append(work, to)
			}
		}
	}
}

// goes records that a number flows from one node to another, and may accumulate on that way.
func (d *digestFlow) goes(from, to node) {
	if _, constant := from.(*ssa.Const); !constant {
		d.flows[from] = append(d.flows[from], to)
		d.turns[from] = append(d.turns[from], to)
	}
}

// passes records a flow through one of many elements. It does not accumulate, because each element
// is separate.
func (d *digestFlow) passes(from, to node) {
	if _, constant := from.(*ssa.Const); !constant {
		d.flows[from] = append(d.flows[from], to)
	}
}

// markElement marks a value as an element of the function's input.
func (d *digestFlow) markElement(n node, how depth) { d.elements[n] = max(d.elements[n], how) }

// flow records where the numbers of one instruction go.
func (d *digestFlow) flow(f *ssa.Function, in ssa.Instruction) {
	switch in := in.(type) {
	// Arithmetic and conversions pass numbers on.
	case *ssa.Phi:
		for _, e := range in.Edges {
			d.goes(e, in)
		}
	case *ssa.BinOp:
		if !compares(in.Op) {
			d.goes(in.X, in)
			d.goes(in.Y, in)
		}
	case *ssa.Convert, *ssa.ChangeType, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.TypeAssert:
		d.goes(firstOperand(in), in.(ssa.Value))
	case *ssa.Slice:
		d.goes(in.X, in)
		d.goes(d.lies(in.X), in)
	case *ssa.UnOp:
		d.flowUnary(in)
	// Memory: a number goes into an object, and comes out of it.
	case *ssa.Store:
		d.store(in)
	case *ssa.Field:
		d.goes(d.lies(in.X).part(in.Field), in)
	// A value read from a list, a text or a map is an element.
	case *ssa.Index:
		d.markElement(in, strong)
		if leadsToMemory(in.X.Type()) {
			d.goes(d.lies(in.X).part(elementPart), in)
			d.turns[in.Index] = append(d.turns[in.Index], in)
		}
	case *ssa.Lookup:
		d.markElement(in, strong)
		if leadsToMemory(in.X.Type()) {
			d.passes(d.lies(in.X).part(elementPart), in)
		}
	case *ssa.Next:
		d.markElement(in, strong)
	case *ssa.Extract:
		d.extract(in)
	case *ssa.MapUpdate:
		d.passes(in.Value, d.lies(in.Map).part(elementPart))
		d.passes(in.Key, d.lies(in.Map).part(keyPart))
	// Results and calls.
	case *ssa.Return:
		for i, r := range in.Results {
			d.goes(r, result{f, i})
		}
	case *ssa.Call:
		d.flowCall(in)
	}
}

// flowUnary follows a load or an operator.
func (d *digestFlow) flowUnary(in *ssa.UnOp) {
	if in.Op != token.MUL {
		d.goes(in.X, in)
		return
	}
	memory := d.lies(in.X)
	if isSingleVariable(in.X) {
		d.goes(memory, in)
	} else {
		d.passes(memory, in)
	}
	if at, ok := in.X.(*ssa.IndexAddr); ok {
		d.turns[at.Index] = append(d.turns[at.Index], in) // a table maps one number to another
	}
	switch in.X.(type) {
	case *ssa.Alloc, *ssa.FreeVar, *ssa.Global:
	default:
		d.markElement(in, strong)
	}
}

// store follows a number into memory.
func (d *digestFlow) store(in *ssa.Store) {
	memory := d.lies(in.Addr)
	if isSingleVariable(in.Addr) {
		d.goes(in.Val, memory)
	} else {
		d.passes(in.Val, memory)
	}
	if syntax.Is[*types.Array](in.Val.Type()) {
		d.goes(in.Val, memory.part(elementPart))
	}
}

// isSingleVariable reports whether an address is that of a single variable, not of an element that
// a variable index chooses.
func isSingleVariable(addr ssa.Value) bool {
	switch a := addr.(type) {
	case *ssa.FieldAddr:
		return isSingleVariable(a.X)
	case *ssa.IndexAddr:
		switch i := a.Index.(type) {
		case *ssa.Const:
			return true
		case *ssa.BinOp:
			_, limited := i.Y.(*ssa.Const)
			return limited && (i.Op == token.AND || i.Op == token.REM)
		}
		return false
	}
	return true
}

// extract follows one value out of a tuple.
func (d *digestFlow) extract(in *ssa.Extract) {
	switch t := in.Tuple.(type) {
	case *ssa.Next:
		if r, ok := t.Iter.(*ssa.Range); ok && !t.IsString {
			d.passes(d.lies(r.X).part(elementPart-(2-in.Index)), in)
		}
		if in.Index == 2 || !t.IsString {
			d.markElement(in, strong)
		}
	case *ssa.Call:
		if own := d.callees(&t.Call); len(own) > 0 {
			for _, fn := range own {
				d.goes(result{fn, in.Index}, in)
			}
			return
		}
		d.goes(t, in)
		d.markElement(in, libraryDepth(in.Type()))
	default:
		if in.Index == 0 {
			d.goes(t, in)
		}
	}
}

// flowCall follows numbers through a call.
func (d *digestFlow) flowCall(in *ssa.Call) {
	// A function of the file: bind its parameters and results.
	own := d.callees(&in.Call)
	for _, fn := range own {
		for i, arg := range d.arguments(&in.Call, fn) {
			d.goes(arg, fn.Params[i])
		}
		if fn.Signature.Results().Len() == 1 {
			d.goes(result{fn, 0}, in)
		}
	}
	if len(own) > 0 {
		return
	}
	if b, ok := in.Call.Value.(*ssa.Builtin); ok {
		d.flowBuiltin(in, b.Name())
		return
	}
	// A hash function of the library or of the rest of the package makes a digest.
	if makesDigest(&in.Call) || d.helperDigests(in.Call.StaticCallee()) {
		d.level[in] = strong
		return
	}
	// Other functions of the library may reveal part of an element.
	if _, tuple := in.Type().(*types.Tuple); !tuple {
		d.markElement(in, libraryDepth(in.Type()))
	}
	if fn := in.Call.StaticCallee(); fn != nil && formPackages[packageOf(fn)] {
		for _, arg := range in.Call.Args {
			d.goes(arg, in)
			if s, ok := arg.Type().Underlying().(*types.Slice); ok && leadsToMemory(s) {
				d.passes(d.lies(arg).part(elementPart), in)
			}
		}
	}
}

// helperDigests reports whether a function of the rest of the package makes a digest.
func (d *digestFlow) helperDigests(fn *ssa.Function) bool {
	if d.helped == nil || fn == nil {
		return false
	}
	obj, ok := fn.Object().(*types.Func)
	return ok && d.helped.digests[effects.Name(obj)]
}

// libraryDepth returns how much of an element a number from the library holds. An int usually is a
// length, a count or a position.
func libraryDepth(t types.Type) depth {
	if syntax.Kind(t) == types.Int {
		return weak
	}
	return strong
}

// formPackages lists packages whose functions express the same value in another form.
var formPackages = set(`math/bits math strconv encoding/hex fmt`)

func packageOf(f *ssa.Function) string {
	if f.Object() != nil && f.Object().Pkg() != nil {
		return f.Object().Pkg().Path()
	}
	return ""
}

// flowBuiltin follows numbers through a builtin.
func (d *digestFlow) flowBuiltin(in *ssa.Call, name string) {
	args := in.Call.Args
	switch name {
	case "min", "max":
		for _, a := range args {
			d.goes(a, in)
		}
	case "append", "copy":
		if len(args) != 2 || !leadsToMemory(args[1].Type()) {
			return
		}
		to := d.lies(args[0])
		d.passes(d.lies(args[1]).part(elementPart), to.part(elementPart))
	}
}
