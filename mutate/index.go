package mutate

import (
	"go/ast"
	"go/types"
	"iter"
	"reflect"
	"slices"
	"sync"
)

// An index answers the questions that rules ask most in constant time. More than a hundred rules
// look at every version, most of them for a few kinds of nodes. So the index walks the tree once,
// and each rule reads a list of the nodes that it looks for. The nodes below a node are a run of
// the list.
type index struct {
	nodes []ast.Node                    // of the whole file, as [ast.Inspect] visits them
	last  []int32                       // for each node, the place after the last node below it
	up    []int32                       // for each node, the place of the node around it, -1 for the file
	at    map[ast.Node]int32            // places in nodes
	kinds map[reflect.Type][]int32      // places of the nodes of each type
	lists [][]ast.Stmt                  // statement lists of function declarations
	uses  map[types.Object][]*ast.Ident // in source order
	names map[string]bool               // all identifiers of the file
	decls map[types.Object]*ast.FuncDecl

	mu    sync.Mutex
	typed map[reflect.Type]any // a *nodeList for each type that a rule has asked for
}

// indexed returns the index of the version's nodes, and builds it once.
func (p *Pass) indexed() *index {
	p = p.base()
	p.once.Do(func() {
		most := 2 * len(p.Info.Types) // there are about twice as many nodes as expressions
		x := &index{nodes: make([]ast.Node, 0, most), up: make([]int32, 0, most), last: make([]int32, 0, most)}
		x.at, x.kinds = make(map[ast.Node]int32, most), map[reflect.Type][]int32{}
		x.uses, x.names = map[types.Object][]*ast.Ident{}, map[string]bool{}
		x.decls, x.typed = map[types.Object]*ast.FuncDecl{}, map[reflect.Type]any{}
		around := int32(-1)
		ast.Inspect(p.File, func(n ast.Node) bool {
			if n == nil {
				x.last[around] = int32(len(x.nodes))
				around = x.up[around]
				return true
			}
			around = x.add(n, around)
			if fn, ok := n.(*ast.FuncDecl); ok {
				x.decls[p.Info.Defs[fn.Name]] = fn
			}
			if id, ok := n.(*ast.Ident); ok {
				x.names[id.Name] = true
				if obj := p.Info.Uses[id]; obj != nil {
					x.uses[obj] = append(x.uses[obj], id)
				}
			}
			return true
		})
		x.listStatements(p.File)
		p.index = x
	})
	return p.index
}

// add adds a node below another one, and returns its place.
func (x *index) add(n ast.Node, around int32) int32 {
	place := int32(len(x.nodes))
	x.nodes, x.up, x.last = append(x.nodes, n), append(x.up, around), append(x.last, place+1)
	x.at[n] = place
	kind := reflect.TypeOf(n)
	x.kinds[kind] = append(x.kinds[kind], place)
	return place
}

// listStatements lists the statement lists of function declarations. It leaves out function
// literals at package level, which run once.
func (x *index) listStatements(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		place := x.at[fn]
		for _, n := range x.nodes[place:x.last[place]] {
			if list := stmtsOf(n); len(list) > 0 {
				x.lists = append(x.lists, list)
			}
		}
	}
}

// Lists returns the statement lists of all function declarations, in source order.
func (p *Pass) Lists() [][]ast.Stmt { return p.indexed().lists }

// Nodes lists every node of type N below root, in source order. A nil root means the whole file,
// and so does the nil that FuncOf returns for code of a package variable. Callers do not change the
// list, which belongs to the version.
func Nodes[N ast.Node](p *Pass, root ast.Node) []N {
	x := p.indexed()
	from, ok := int32(0), true
	if fn, is := root.(*ast.FuncDecl); root != nil && (!is || fn != nil) {
		from, ok = x.at[root]
	}
	if !ok {
		return walk[N](root) // a rule made the node
	}
	all := nodesOf[N](x)
	begin, _ := slices.BinarySearch(all.places, from)
	end, _ := slices.BinarySearch(all.places, x.last[from])
	return all.nodes[begin:end:end]
}

// A nodeList holds all nodes of a type, with their places.
type nodeList[N ast.Node] struct {
	places []int32
	nodes  []N
}

// nodesOf returns the nodes of a type, and lists them once.
func nodesOf[N ast.Node](x *index) *nodeList[N] {
	x.mu.Lock()
	defer x.mu.Unlock()
	kind := reflect.TypeFor[N]()
	if all, ok := x.typed[kind].(*nodeList[N]); ok {
		return all
	}
	all := &nodeList[N]{places: x.kinds[kind]}
	for _, place := range all.places {
		all.nodes = append(all.nodes, x.nodes[place].(N))
	}
	// No node has the type of an interface, so all are asked.
	if kind.Kind() == reflect.Interface {
		for place, n := range x.nodes {
			if m, ok := n.(N); ok {
				all.places, all.nodes = append(all.places, int32(place)), append(all.nodes, m)
			}
		}
	}
	x.typed[kind] = all
	return all
}

// walk is Nodes for a root that stands in no file.
func walk[N ast.Node](root ast.Node) (out []N) {
	ast.Inspect(root, func(n ast.Node) bool {
		if m, ok := n.(N); ok && n != nil {
			out = append(out, m)
		}
		return true
	})
	return out
}

// Path lists the nodes around n, n itself first.
func (p *Pass) Path(n ast.Node) []ast.Node {
	if _, ok := p.indexed().at[n]; !ok {
		return enclosing(p.File, n) // a rule made n
	}
	return slices.AppendSeq([]ast.Node{n}, p.ancestors(n))
}

// ancestors yields the nodes around a node of the file, the innermost first, without the node.
func (p *Pass) ancestors(n ast.Node) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		x := p.indexed()
		place, ok := x.at[n]
		if !ok {
			return
		}
		for i := x.up[place]; i >= 0; i = x.up[i] {
			if !yield(x.nodes[i]) {
				return
			}
		}
	}
}

// Parent returns the node around n and skips parentheses.
func (p *Pass) Parent(n ast.Node) ast.Node {
	for up := range p.ancestors(n) {
		if _, paren := up.(*ast.ParenExpr); !paren {
			return up
		}
	}
	return nil
}

// Siblings returns the statement list that holds s, and the index of s in it, or nil. Rules use it
// to look before and after a loop.
func (p *Pass) Siblings(s ast.Stmt) ([]ast.Stmt, int) {
	if p.FuncOf(s) == nil {
		return nil, -1 // in a function literal at package level
	}
	x := p.indexed()
	if place, ok := x.at[s]; ok {
		list := stmtsOf(x.nodes[x.up[place]])
		if i := slices.Index(list, s); i >= 0 {
			return list, i
		}
	}
	return nil, -1
}

// versionFacts holds facts about a version. Many rules ask for the same tables and the same tests
// of a byte, and the search asks many times for a rule's offers.
type versionFacts struct {
	mu      sync.Mutex
	offers  map[*Mutator][]offer
	globals map[*types.Var]globalValue
	facts   map[any]any
}

// Once returns the result of the first call of find for a key. Several rules share a fact about a
// version this way. The fact must follow from the version alone, and must not change afterwards.
func (p *Pass) Once(key any, find func() any) any {
	k := &p.base().known
	k.mu.Lock()
	fact, ok := k.facts[key]
	k.mu.Unlock()
	if ok {
		return fact
	}
	fact = find()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.facts == nil {
		k.facts = map[any]any{}
	}
	k.facts[key] = fact
	return fact
}
