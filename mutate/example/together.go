package example

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// surroundings is what the places of one step share: imports, helpers and names that are new.
type surroundings struct {
	pass    *mutate.Pass
	fresh   []string          // new names, which nothing else may take
	imports map[string]string // path to name
	paths   []string          // the keys of imports, in order
	helpers map[string]string
	decls   []addition
}

// An addition is a declaration that goes after the function of a match.
type addition struct {
	behind ast.Node
	text   string
}

func newSurroundings(p *mutate.Pass) *surroundings {
	return &surroundings{pass: p, imports: map[string]string{}, helpers: map[string]string{}}
}

// clone returns a copy, for an attempt that may fail.
func (s *surroundings) clone() *surroundings {
	c := *s
	c.fresh, c.paths, c.decls = slices.Clone(s.fresh), slices.Clone(s.paths), slices.Clone(s.decls)
	c.imports, c.helpers = maps.Clone(s.imports), maps.Clone(s.helpers)
	return &c
}

// imported returns the edits that import what is new.
func (s *surroundings) imported() []mutate.Edit {
	var out []mutate.Edit
	for _, path := range s.paths {
		_, more := s.pass.Import(path)
		out = append(out, more...)
	}
	return mutate.MergeImports(out)
}

// declared returns the edits that declare new helpers.
func (s *surroundings) declared() (out []mutate.Edit) {
	for _, d := range s.decls {
		out = append(out, s.pass.Declare(d.behind, d.text))
	}
	return out
}

// join makes one site of all matches, and of the places that code finds. A match that lies within
// another is written as a part of it.
func (c *compiled) join(p *mutate.Pass, all []*Match, coded []mutate.Site) []mutate.Site {
	// Outer matches come before inner ones, so that an inner one is written as a part.
	inorder.By(all, func(a, b *Match) int {
		if d := a.Node.Pos() - b.Node.Pos(); d != 0 {
			return int(d)
		}
		return int(b.Region().End() - a.Region().End())
	})
	around := newSurroundings(p)
	var edits []mutate.Edit
	var done, places []ast.Node
	for _, s := range coded {
		edits = append(edits, s.Data.([]mutate.Edit)...)
		done, places = append(done, s.Node), append(places, s.Node)
	}
	// Skip what a match before has taken. Each attempt works on a copy of the surroundings, so that
	// one that fails leaves no name behind.
	for _, m := range all {
		if m.meets(done) {
			continue
		}
		attempt := around.clone()
		w := newWriter(m, m.pair.ways[0], attempt)
		m.inner = m.writersWithin(all, attempt)
		more, err := w.edits()
		if err != nil {
			continue
		}
		around, edits, done = attempt, append(edits, more...), append(done, m.Region())
		for _, d := range m.named {
			done = append(done, d.Stmt)
		}
		places = append(places, m.Node)
	}
	if places == nil {
		return nil
	}
	// The site lies at the first place.
	first := slices.MinFunc(places, func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) })
	return []mutate.Site{{Node: first, Label: c.rule.Label(nil),
		Data: []rewritten{{edits: slices.Concat(around.imported(), edits, around.declared())}}}}
}

// meets reports whether a match lies within a place that is rewritten already, or takes away a
// declaration that holds one.
func (m *Match) meets(done []ast.Node) bool {
	return slices.ContainsFunc(done, func(n ast.Node) bool {
		for _, d := range m.named {
			if facts.Inside(n, d.Stmt) {
				return true
			}
		}
		return facts.Inside(m.Node, n)
	})
}

// writersWithin returns a writer of the step's other matches that are expressions within this one.
func (m *Match) writersWithin(all []*Match, s *surroundings) func(ast.Node) (string, bool) {
	// Only expressions can be written as a part of another text: statements would have to leave it.
	var parts []*Match
	for _, other := range all {
		if other != m && other.tail != nil && len(other.list) == 0 && len(other.named) == 0 &&
			facts.Inside(other.tail, m.Region()) {
			parts = append(parts, other)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	// The part is written with its own inner matches. If it fails, it stays as it is.
	return func(n ast.Node) (string, bool) {
		i := slices.IndexFunc(parts, func(part *Match) bool { return ast.Node(part.tail) == n })
		if i < 0 {
			return "", false
		}
		part := parts[i]
		part.inner = part.writersWithin(parts, s)
		attempt := s.clone()
		w := newWriter(part, part.pair.ways[0], attempt)
		edits, err := w.edits()
		if err != nil || len(edits) != 1 {
			return "", false
		}
		*s = *attempt
		return edits[0].New, true
	}
}
