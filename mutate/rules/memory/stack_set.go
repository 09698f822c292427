package memory

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// stackSet (part of catalogue M4) matches a local map that serves as a set of numbers, or of
// structs of numbers. It declares a type with a small hash table, like H4's, that moves to a map if
// it becomes full.
var stackSet = &mutate.Mutator{
	Name: "stack-set",
	Doc: "Keep a set of numbers, or of structs of numbers, in a table on the stack as long as it is small, and in a " +
		"map from there on. A map allocates, hashes through a function pointer and grows step by step. Exact: the " +
		"set is local, is only asked and added to, and its order is never looked at.",
	Example: mutate.Shows(`seen := map[int]struct{}{}
for _, id := range ids {
	if _, ok := seen[id]; ok {
		continue
	}
	seen[id] = struct{}{}
	...
}`,
		`var seen seenSet // on the stack
for _, id := range ids {
	if !seen.add(id) {
		continue
	}
	...
}

type seenSet struct {
	slots [128]uint16 // number of a key, 0 is free
	keys  [64]int
	n     int
	more  map[int]struct{} // beyond that
}`),
	Class:   beagle.E0,
	Gain:    2.5,
	Find:    findStackSet,
	Params:  sizesFor(64, 256),
	Rewrite: rewriteStackSet,
}

func findStackSet(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range localSets(p) {
		if s.keyFields(p) && s.uses(p) {
			sites = append(sites, mutate.Site{Node: s.decl.Stmt, Label: "set " + s.decl.Var.Name(), Data: s})
		}
	}
	return sites
}

// keyFields accepts integers, and structs of integers whose type can be named at package level.
func (s *setSite) keyFields(p *mutate.Pass) bool {
	// The new type stands at package level, where a local type has no name.
	if syntax.IsInteger(s.key) {
		named, ok := s.key.(*types.Named)
		return !ok || named.Obj().Parent() == p.Pkg.Scope()
	}
	t, ok := s.key.Underlying().(*types.Struct)
	named, isNamed := s.key.(*types.Named)
	// A few fields, all compared with == as a map does.
	if !ok || !isNamed || named.Obj().Parent() != p.Pkg.Scope() || named.TypeArgs().Len() > 0 || t.NumFields() == 0 ||
		t.NumFields() > 4 {
		return false
	}
	for f := range t.Fields() {
		if !syntax.IsInteger(f.Type()) || f.Name() == "_" {
			return false
		}
		s.fields = append(s.fields, part{text: "k." + f.Name(), typ: f.Type()})
	}
	return true
}

// uses collects the rewrites of all uses of the map: a question, an addition, or a question with
// the addition right after it.
func (s *setSite) uses(p *mutate.Pass) bool {
	var makers []func(name string) []mutate.Edit
	done := map[ast.Node]bool{}
	// Each use is rewritten by a function that waits for the set's name. One that asks and adds is
	// done with both.
	for _, id := range p.Uses(s.decl.Var, p.File) {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(id) {
			return false
		}
		if done[ix] {
			continue
		}
		edit := s.use(p, ix, done)
		if edit == nil {
			return false
		}
		makers = append(makers, edit)
	}
	// The edits are made when the name of the set's variable is known.
	s.edits = func(name string) (out []mutate.Edit) {
		for _, m := range makers {
			out = append(out, m(name)...)
		}
		return out
	}
	return len(makers) > 0
}

// use returns how one use of the map is written with the set, or nil if the set cannot do it. The
// result is a function, because the set has no name yet.
func (s *setSite) use(p *mutate.Pass, ix *ast.IndexExpr, done map[ast.Node]bool) func(string) []mutate.Edit {
	key := p.Text(ix.Index)
	// m[k] = true adds a member. Any other value is no set.
	if as, ok := p.Parent(ix).(*ast.AssignStmt); ok && len(as.Lhs) == 1 && as.Lhs[0] == ast.Expr(ix) {
		if as.Tok != token.ASSIGN || !isMember(p, as.Rhs[0]) {
			return nil
		}
		return func(name string) []mutate.Edit { return []mutate.Edit{p.Replace(as, name+".add("+key+")")} }
	}
	// if !m[k] { m[k] = true ... } asks and adds in one step, which saves a search.
	if cond, positive := s.condition(p, ix); cond != nil {
		if add := s.addedNext(p, cond, ix, positive); add != nil {
			done[ast.Unparen(add.(*ast.AssignStmt).Lhs[0])] = true
			not := "!"
			if !positive {
				not = ""
			}
			return func(name string) []mutate.Edit {
				return []mutate.Edit{p.Span(cond.Cond.Pos(), cond.Cond.End(), not+name+".add("+key+")"),
					s.dropInit(p, cond), p.Delete(add)}
			}
		}
	}
	// Everything else asks for a member: as a bool, or by the second result. A first result that is
	// used is a value that the set does not hold.
	s.asks = true
	if !facts.CommaOK(p, ix) {
		if !syntax.IsPredeclared(p.Info.TypeOf(ix), types.Bool) {
			return nil
		}
		return func(name string) []mutate.Edit { return []mutate.Edit{p.Replace(ix, name+".has("+key+")")} }
	}
	as, ok := p.Parent(ix).(*ast.AssignStmt)
	if !ok || !syntax.IsBlank(as.Lhs[0]) {
		return nil
	}
	return func(name string) []mutate.Edit {
		return []mutate.Edit{p.Replace(as, p.Text(as.Lhs[1])+" "+as.Tok.String()+" "+name+".has("+key+")")}
	}
}

// isMember recognises struct{}{} and true.
func isMember(p *mutate.Pass, e ast.Expr) bool {
	_, lit := ast.Unparen(e).(*ast.CompositeLit)
	return lit || isBool(p, e, true)
}

// condition finds the if whose whole condition is the question: `if m[k]`, `if !m[k]`, and both
// with `_, ok := m[k]` in front. positive says that the body runs if the set holds the key.
func (s *setSite) condition(p *mutate.Pass, ix *ast.IndexExpr) (st *ast.IfStmt, positive bool) {
	// The whole condition must be the question.
	st, ok := facts.Enclosing[*ast.IfStmt](p, ix)
	if !ok {
		return nil, false
	}
	cond := ast.Unparen(st.Cond)
	positive = true
	// A negation turns the branches around.
	if not, ok := cond.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		cond, positive = ast.Unparen(not.X), false
	}
	// With `_, ok := m[k]` in front, the condition is ok alone, and nothing else may read it.
	if as, ok := st.Init.(*ast.AssignStmt); ok {
		v := p.Var(cond)
		if p.Parent(ix) != ast.Node(as) || len(as.Lhs) != 2 || !syntax.IsBlank(as.Lhs[0]) || as.Tok != token.DEFINE {
			return nil, false
		}
		if v == nil || p.Var(as.Lhs[1]) != v || len(p.Uses(v, st)) != 1 {
			return nil, false
		}
		return st, positive
	}
	// Without, the element itself is the condition, so the map must hold bools.
	if st.Init != nil || cond != ast.Expr(ix) || !syntax.IsPredeclared(p.Info.TypeOf(ix), types.Bool) {
		return nil, false
	}
	return st, positive
}

func (s *setSite) dropInit(p *mutate.Pass, st *ast.IfStmt) mutate.Edit {
	if st.Init == nil {
		return p.Insert(st.Cond.Pos(), "")
	}
	return p.Span(st.Init.Pos(), st.Cond.Pos(), "")
}

// addedNext returns the statement that adds the same key at once if it is missing. It stands after
// an if that leaves when the key is there, or first in the body of an if that asks for its absence.
func (s *setSite) addedNext(p *mutate.Pass, st *ast.IfStmt, ix *ast.IndexExpr, positive bool) ast.Stmt {
	// Find the statement that runs next if the key is missing.
	var next ast.Stmt
	if positive {
		list, at := p.Siblings(st)
		if at < 0 || at+1 >= len(list) || st.Else != nil || !mutate.Terminates(st.Body.List) ||
			len(p.Uses(s.decl.Var, st.Body)) > 0 {
			return nil
		}
		next = list[at+1]
	} else if len(st.Body.List) > 0 {
		next = st.Body.List[0]
	}
	// It must add the same key, whose value must not change between the two.
	lhs, rhs, ok := syntax.SplitAssign(orEmpty(next), token.ASSIGN)
	if !ok || !isMember(p, rhs) {
		return nil
	}
	store, ok := ast.Unparen(lhs).(*ast.IndexExpr)
	if !ok || p.Var(store.X) != s.decl.Var || !p.Same(store.Index, ix.Index) ||
		!p.Pure(ix.Index) && !plainElements(p, ix.Index) {
		return nil
	}
	return next
}

// plainElements reports whether an expression calls nothing, and so has the same value twice in a
// row.
func plainElements(p *mutate.Pass, e ast.Expr) bool {
	return !facts.CallsFunction(p, e) && !p.Effects(e).Writes
}

func orEmpty(s ast.Stmt) ast.Stmt {
	if s == nil {
		return &ast.EmptyStmt{}
	}
	return s
}

// rewriteStackSet declares a type for the set, and a variable of it in the map's place.
func rewriteStackSet(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s, n := site.Data.(*setSite), param.Value.(int)
	key, ok := facts.TypeText(p, s.key)
	if !ok {
		return nil, fmt.Errorf("the type of the keys of %s cannot be written here", s.decl.Var.Name())
	}
	name := s.decl.Var.Name()
	typ := p.Fresh(name+"Set", name+"Table")
	edits := []mutate.Edit{
		p.Replace(s.decl.Stmt, fmt.Sprintf("var %s %s // on the stack while it is small", name, typ)),
	}
	for _, e := range s.edits(name) {
		// An edit that changes nothing is left out.
		if e.Start != e.End || e.New != "" {
			edits = append(edits, e)
		}
	}
	return append(edits, p.Declare(s.decl.Stmt, s.declaration(typ, key, n))), nil
}

// hash declares h for key k.
func (s *setSite) hash() string {
	if s.fields == nil {
		return mixHash("h", []part{{text: "k"}})
	}
	return mixHash("h", s.fields)
}

// declaration writes the type of the set with its methods. A key of several small fields is stored
// as one packed word, which is also what is hashed.
func (s *setSite) declaration(typ, key string, n int) string {
	// Store the key as it is, or as one word if its fields fit in one.
	stored, word, hash := key, "k", s.hash()
	if pack := packWord(s.fields); pack != "" {
		stored, word = "uint64", "x"
		hash = "x := " + pack + "\nh := x * " + hashFactor
	}
	// The table has twice as many slots as keys, so that probes stay short. The hash keeps the top
	// bits of a product.
	text := strings.NewReplacer("<T>", typ, "<K>", key, "<S>", stored, "<k>", word, "<slots>", strconv.Itoa(2*n),
		"<mask>", strconv.Itoa(2*n-1),
		"<n>", strconv.Itoa(n), "<last>", strconv.Itoa(n-1), "<hash>", hash, "<shift>", strconv.Itoa(64-tableBits(n)))
	// Write the type, and the methods that add a key: to the table, and to the map once it is full.
	out := text.Replace(`// <T> is a set: its first <n> keys lie in a table with open addressing, the
// others in a map.
type <T> struct {
	slots [<slots>]uint16 // number of a key from 1, 0 is free
	keys  [<n>]<S>
	n     int
	more  map[<S>]struct{}
}

// add adds a key and reports whether it is new.
func (s *<T>) add(k <K>) bool {
	<hash>
	at := h >> <shift>
	for ; s.slots[at&<mask>] != 0; at++ {
		if s.keys[(s.slots[at&<mask>]-1)&<last>] == <k> {
			return false
		}
	}
	if s.n == len(s.keys) {
		return s.addMore(<k>)
	}
	s.keys[s.n&<last>] = <k>
	s.n++
	s.slots[at&<mask>] = uint16(s.n)
	return true
}

func (s *<T>) addMore(k <S>) bool {
	if _, ok := s.more[k]; ok {
		return false
	}
	if s.more == nil {
		s.more = make(map[<S>]struct{})
	}
	s.more[k] = struct{}{}
	return true
}`)
	// The code may also ask without adding.
	if s.asks {
		out += text.Replace(`

// has reports whether a key is in the set.
func (s *<T>) has(k <K>) bool {
	<hash>
	for at := h >> <shift>; s.slots[at&<mask>] != 0; at++ {
		if s.keys[(s.slots[at&<mask>]-1)&<last>] == <k> {
			return true
		}
	}
	_, ok := s.more[<k>]
	return ok
}`)
	}
	return out
}

// isBool reports whether e is the constant true or false, as wanted.
func isBool(p *mutate.Pass, e ast.Expr, want bool) bool {
	v := p.Info.Types[e].Value
	return v != nil && v.Kind() == constant.Bool && constant.BoolVal(v) == want
}
