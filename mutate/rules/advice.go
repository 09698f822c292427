package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// An Advisory is a change that a person may want and that no rewrite may make, because its worth
// depends on promises outside the source. Beagle finds and explains it, and never applies it.
type Advisory struct {
	Name string
	Doc  string // what to do, what it gains, and what must hold
	Find func(*mutate.Pass) []mutate.Site
}

// Advice lists the advisories.
var Advice = []*Advisory{
	{"lock-in-loop",
		"A mutex is locked in every iteration of a loop. Locking once around the loop, or once a batch, saves most " +
			"of it (about 85 % of a short body), but others wait longer and see the work in larger steps: right only " +
			"when nobody needs the steps in between.", findLockInLoop},
	{"atomic-in-loop",
		"An atomic counter is added to in every iteration of a loop. One addition of the sum after the loop costs a " +
			"fraction, but others see the counter jump: right only when nobody reads it meanwhile.", findAtomicInLoop},
	{"send-in-loop",
		"Items are sent over a channel one by one. Sending slices of them divides the cost by their length, but " +
			"changes the channel's type and when items arrive.", findSendInLoop},
	{"receiver-scratch",
		"A buffer is made in every call of a method. Keeping it in the receiver saves the allocation, but makes the " +
			"method unsafe for two goroutines at once: right only when the documentation gives the type to one " +
			"goroutine.",
		findReceiverScratch},
	{"pool-scratch",
		"A large buffer is made in every call and dropped again. Taking it from a sync.Pool saves the allocation and " +
			"most of the garbage collector's work, but the next call finds the last one's content: right only when " +
			"nothing keeps the buffer and each call writes before it reads. Candidates may keep no state between " +
			"calls, so Beagle never tries this.", findPoolScratch},
	{"no-copy-string",
		"A byte slice is converted to a string, which copies it. unsafe.String does not copy, but the string then " +
			"changes when the bytes do: right only when nobody writes or keeps the bytes.", findNoCopy},
	{"field-order",
		"Fields of this struct are laid out with gaps. Another order makes it smaller, but shows in reflection, " +
			"binary encodings, and literals without field names.", findFieldOrder},
	{"equal-fold",
		"Two strings are compared by converting both to one case. strings.EqualFold needs no copies (about 80 % " +
			"less), but differs for some characters beyond ASCII, such as the long s: right only when the strings " +
			"are ASCII.", findEqualFold},
}

// Advise lists the changes to a candidate that a person may want.
func Advise(p *mutate.Pass) []beagle.Advice {
	var out []beagle.Advice
	for _, a := range Advice {
		// Advice is found like a rewrite, but nothing is rewritten: it would change what callers
		// see.
		for _, s := range mutate.Find(p, &mutate.Mutator{Name: a.Name, Find: a.Find}) {
			out = append(out, beagle.Advice{
				Name: a.Name,
				Line: p.Fset.Position(s.Node.Pos()).Line,
				Site: edit.OneLine(s.Label),
				Doc:  a.Doc,
			})
		}
	}
	return out
}

func adviceAt(n ast.Node, label string) mutate.Site { return mutate.Site{Node: n, Label: label} }

func callsInLoop(p *mutate.Pass, pkg string, names ...string) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if _, ok := p.IsCall(call, pkg, names...); ok && p.InLoop(call) {
			sites = append(sites, adviceAt(call, p.Text(call)+" in a loop"))
		}
	}
	return sites
}

func findLockInLoop(p *mutate.Pass) []mutate.Site {
	return callsInLoop(p, "sync", "Mutex.Lock", "RWMutex.Lock", "RWMutex.RLock")
}

func findAtomicInLoop(p *mutate.Pass) []mutate.Site {
	return callsInLoop(p, "sync/atomic", "AddInt32", "AddInt64", "AddUint32", "AddUint64", "Int32.Add", "Int64.Add",
		"Uint32.Add", "Uint64.Add")
}

func findSendInLoop(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[*ast.SendStmt](p, nil) {
		if p.InLoop(s) {
			sites = append(sites, adviceAt(s, p.Text(s)+" in a loop"))
		}
	}
	return sites
}

// findReceiverScratch looks for buffers that a method makes at each call and that stay in it: a
// pointer receiver could keep them.
func findReceiverScratch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		fn := p.FuncOf(list[i])
		// Only a method has a receiver that outlives the call.
		if !ok || fn.Recv == nil || !facts.IsSlice(d.Var.Type()) {
			continue
		}
		// A buffer that leaves the method belongs to somebody else afterwards.
		if _, made := p.IsBuiltin(d.Value, "make"); !made || !facts.StaysHere(p, d.Var) {
			continue
		}
		// A value receiver is a copy, which would forget the buffer.
		if _, pointer := p.Info.TypeOf(fn.Recv.List[0].Type).(*types.Pointer); pointer {
			sites = append(sites, adviceAt(d.Stmt, "buffer "+d.Var.Name()))
		}
	}
	return sites
}

// findPoolScratch looks for buffers that stay in the function and are too large for the stack.
func findPoolScratch(p *mutate.Pass) []mutate.Site {
	const onStack = 64 << 10
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || !facts.IsSlice(d.Var.Type()) || !facts.StaysHere(p, d.Var) {
			continue
		}
		// A buffer of the function itself is made anew at each call.
		call, made := p.IsBuiltin(d.Value, "make")
		if !made || len(call.Args) < 2 {
			continue
		}
		// Warn if its size is certainly beyond the stack's, or often large by the corpus.
		size := facts.ElementSize(d.Var.Type().Underlying().(*types.Slice).Elem())
		n, constant := p.Int(call.Args[len(call.Args)-1])
		if constant && n*size > onStack || !constant && int64(facts.Percentile99(p))*size >= 1024 {
			sites = append(sites, adviceAt(d.Stmt, "buffer "+d.Var.Name()))
		}
	}
	return sites
}

func findNoCopy(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if _, ok := facts.ConvertsTo(p, call, "string"); ok && !facts.FreeConversion(p, call) {
			sites = append(sites, adviceAt(call, p.Text(call)))
		}
	}
	return sites
}

// findFieldOrder looks at the struct types that the target receives, and at those that the
// candidate declares.
func findFieldOrder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	seen := map[*types.Struct]bool{}
	for _, f := range mutate.Nodes[*ast.Field](p, nil) {
		t := p.Info.TypeOf(f.Type)
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		// Only types of the target's package can be changed.
		named, ok := t.(*types.Named)
		if !ok || named.Obj().Pkg() != p.Pkg || facts.MentionsTypeParam(named) {
			continue
		}
		s, ok := named.Underlying().(*types.Struct)
		if !ok || seen[s] {
			continue
		}
		seen[s] = true
		if now, best := layoutSizes(s); best < now {
			sites = append(sites,
				adviceAt(f, fmt.Sprintf("%s: %d bytes, %d in another order", named.Obj().Name(), now, best)))
		}
	}
	return sites
}

// layoutSizes returns the size of a struct as declared, and its size with the fields in descending
// order of alignment.
func layoutSizes(s *types.Struct) (now, best int64) {
	sizes := types.SizesFor("gc", "amd64")
	align := int64(1)
	for f := range s.Fields() {
		best += sizes.Sizeof(f.Type())
		align = max(align, sizes.Alignof(f.Type()))
	}
	return sizes.Sizeof(s), (best + align - 1) / align * align
}

// findEqualFold looks for comparisons of two texts that both change their case first.
func findEqualFold(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, b := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		if b.Op != token.EQL && b.Op != token.NEQ {
			continue
		}
		// Both sides must change the case in the same way.
		for _, name := range []string{"ToLower", "ToUpper"} {
			_, x := p.IsCall(b.X, "strings", name)
			_, y := p.IsCall(b.Y, "strings", name)
			if x && y {
				sites = append(sites, adviceAt(b, p.Text(b)))
			}
		}
	}
	return sites
}
