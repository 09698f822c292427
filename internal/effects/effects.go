package effects

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/inorder"
)

// summary returns the effects of the solved unit on memory that its function did not make.
func (u *unit) summary() *Summary {
	s := new(Summary)
	// Memory that the function made itself is its own.
	for _, w := range u.written {
		if w.Ref.Kind != Fresh {
			s.Writes = append(s.Writes, w.Ref)
		}
	}
	for k := range u.stored {
		s.Stores = append(s.Stores, k)
	}
	for r := range u.runs {
		s.Runs = append(s.Runs, r)
	}
	for r := range u.thrown {
		s.Panics = append(s.Panics, r)
	}
	s.sort()
	for i := range u.fn.Signature.Results().Len() {
		s.Results = append(s.Results, u.resultOf(i))
	}
	return s
}

// sort orders the contents of maps: callers take effects over in this order, and where functions
// call each other their summaries may depend on it.
func (s *Summary) sort() {
	byText := func(a, b Ref) int { return cmp.Compare(a.String(), b.String()) }
	inorder.By(s.Writes, byText)
	inorder.By(s.Panics, byText)
	inorder.By(s.Stores, func(a, b Store) int { return cmp.Or(byText(a.Into, b.Into), byText(a.From, b.From)) })
	inorder.By(s.Runs, func(a, b Run) int {
		return cmp.Or(byText(a.Code, b.Code), cmp.Compare(a.Method, b.Method), byText(a.Arg, b.Arg))
	})
}

// resultOf returns what result i leads to: the memory itself, and for new memory what lies inside
// of it and its fields, because the caller can reach that.
func (u *unit) resultOf(i int) []Result {
	top := u.returned(u.fn, i)
	var out []Result
	add := func(r Result) {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for j := range u.open(top).all {
		p := u.places[j]
		if p.ref.Kind != Invalid {
			add(Result{Field: WholeValue, Ref: withoutField(p.ref)})
		}
		// Only new memory needs its contents told. The caller knows the memory that it passed.
		if p.ref.Kind == Fresh {
			u.addInside(j, WholeValue, add)
			for _, k := range u.fields[j] {
				u.addInside(k, u.places[k].field, add)
			}
		}
	}
	return out
}

// addInside adds the references in the fresh memory at i.
func (u *unit) addInside(i, field int, add func(Result)) {
	for j := range u.reach(u.content[i]).all {
		if r := u.places[j].ref; r.Kind != Invalid {
			add(Result{Field: field, Ref: withoutField(r), Deep: true})
		}
	}
}

// withoutField drops the field from a reference to fresh memory.
func withoutField(r Ref) Ref {
	if r.Kind == Fresh {
		r.Field = WholeValue
	}
	return r
}

// Effects are the effects of one function, each with its place.
type Effects struct {
	Writes []Effect
	Keeps  []Effect // writes of function values that outlive the call to what they keep
	Stores []Effect // Ref is the stored reference; Into says where it went
	Into   []Ref
	Runs   []Effect // memory handed to code that the function received
	// code that the function received and runs: Ref says whose, and Via names the method
	Received []Effect
	// methods that calls through interfaces may reach, where the values' types are known
	Methods []Method
	Panics  []Effect // where the values of panics lead
	Moves   []Effect // shared memory to which the function lets other shared memory lead
	Shares  []Effect // where results lead, other than fresh memory
}

// A Method is one that a call through an interface may reach.
type Method struct {
	Pos  token.Pos
	Func *types.Func
}

// Effects analyses a function once more, after [Program.Analyse].
func (p *Program) Effects(f *ssa.Function) *Effects {
	// Solve the function again by itself: the summaries of its callees are complete now, and the
	// unit keeps a place in the code for each effect.
	u := newUnit(p, f)
	u.solve()
	out := new(Effects)
	for _, w := range u.written {
		if w.Ref.Kind != Fresh {
			out.Writes = append(out.Writes, w)
		}
	}
	inorder.By(out.Writes, byPlace)
	out.Keeps = u.keptWrites(map[*ssa.Function]bool{})
	inorder.By(out.Keeps, byPlace)
	for k, w := range u.stored {
		out.Stores, out.Into = append(out.Stores, w), append(out.Into, k.Into)
	}
	for r, w := range u.runs {
		w.Via = r.Method
		out.Runs = append(out.Runs, w)
		code := Effect{Pos: w.Pos, Ref: r.Code, Via: r.Method}
		if !slices.Contains(out.Received, code) {
			out.Received = append(out.Received, code)
		}
	}
	inorder.By(out.Runs, byPlace)
	inorder.By(out.Received, byPlace)
	for f, w := range u.methods {
		if fn, ok := f.Object().(*types.Func); ok {
			out.Methods = append(out.Methods, Method{w.Pos, fn.Origin()})
		}
	}
	inorder.By(out.Methods, func(a, b Method) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Func.FullName(), b.Func.FullName()))
	})
	for _, w := range u.thrown {
		out.Panics = append(out.Panics, w)
	}
	inorder.By(out.Panics, byPlace)
	for _, w := range u.moved {
		out.Moves = append(out.Moves, w)
	}
	inorder.By(out.Moves, byPlace)
	// A result that shares memory has no instruction of its own, so the function's place stands for
	// it.
	for i := range f.Signature.Results().Len() {
		for _, r := range u.resultOf(i) {
			if r.Ref.Kind != Fresh {
				out.Shares = append(out.Shares, Effect{Pos: f.Pos(), Ref: r.Ref})
			}
		}
	}
	return out
}

// keptWrites returns the writes of function values that outlive the call to what they keep: their
// next call sees that. Those that such values make outlive their calls, too.
func (u *unit) keptWrites(seen map[*ssa.Function]bool) (out []Effect) {
	// Find what the caller can reach.
	var outlives set
	for i := range u.fn.Signature.Results().Len() {
		outlives.union(u.reach(u.returned(u.fn, i)))
	}
	for i, p := range u.places {
		if p.ref.Kind == Top || p.ref.Kind == Deep {
			outlives.union(u.reach(u.content[i]))
		}
	}
	// Solve each function value among that by itself.
	for i := range outlives.all {
		f := u.places[i].fn
		if f == nil || seen[f] || len(f.FreeVars) == 0 && len(f.AnonFuncs) == 0 {
			continue
		}
		seen[f] = true
		own := newUnit(u.p, f)
		own.solve()
		for _, w := range own.written {
			if w.Ref.Kind == Shared && w.Ref.Name == Kept {
				out = append(out, w)
			}
		}
		out = append(out, own.keptWrites(seen)...)
	}
	return out
}

func byPlace(a, b Effect) int {
	return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Ref.String(), b.Ref.String()), cmp.Compare(a.Via, b.Via))
}
