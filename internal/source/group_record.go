package source

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"math"
	"slices"
	"strings"
)

// This file holds what a group has of recorded calls: those of functions that others call, each by
// itself, and conditions on them.

// Recordable names the functions of a group that others call, and whose calls can be recorded each
// by itself: see [Options.Entry].
func (sc *Scope) Recordable() (out []string) {
	for _, p := range sc.functions() {
		if sc.unrecorded(p) == "" {
			out = append(out, p.key())
		}
	}
	return out
}

// Unrecorded explains why the calls of a function are not recorded by themselves; "" if they are.
// It refuses a name that is no function of the group.
func (sc *Scope) Unrecorded(name string) (why string, err error) {
	p := sc.pkg.function(name)
	if !slices.Contains(sc.functions(), p) {
		return "", sc.refuseGroup("it has no function "+name,
			"its functions are "+strings.Join(sc.FunctionNames(), ", "))
	}
	return sc.unrecorded(p), nil
}

// NoneRecorded explains for all functions of a group why their calls are not recorded.
func (sc *Scope) NoneRecorded() string {
	var why []string
	for _, p := range sc.functions() {
		if len(why) < 3 {
			why = append(why, p.key()+": "+sc.unrecorded(p))
		}
	}
	return strings.Join(why, "; ")
}

// Demanded reports whether the options state a condition on the calls of a function of a group.
func (c *Conditions) Demanded(name string) bool { return len(c.terms[name]) > 0 }

// unrecorded is Unrecorded for a function of the group.
func (sc *Scope) unrecorded(p *piece) string {
	fn, in := p.decl.(*ast.FuncDecl), setOf(sc.pieces)
	// A function must be called from outside, and have one type.
	switch {
	case !sc.group.held[p.key()]:
		return "only the group calls it, so a version may call it in another way"
	case fn.Type.TypeParams != nil:
		return "it is generic"
	}
	// A version's own type is no longer the one that records hold.
	for name, t := range sc.group.types {
		if !isSubset(sc.pkg.graph.usedBy[t], in) {
			return fmt.Sprintf("code beside the group uses %s, and a version's own %[1]s is another type to it", name)
		}
	}
	sig := sc.pkg.info.Defs[p.names[0]].(*types.Func).Signature()
	for _, v := range slices.AppendSeq(variables(sig), sig.Results().Variables()) {
		if why := sc.changingType(v.Type()); why != "" {
			return why
		}
	}
	// Fields that nothing else sees may have another meaning in a version.
	if p.recv != "" && sc.isPrivate(p.recv, in) {
		return fmt.Sprintf("only the group uses the fields of %s, so they may mean something else in a version",
			p.recv)
	}
	return ""
}

// changingType names the type that versions may change and that values of a type may hold; "" for
// none.
func (sc *Scope) changingType(t types.Type) string {
	// An interface may hold any type that has its methods.
	open, _ := t.Underlying().(*types.Interface)
	for _, p := range sc.pieces {
		own, ok := sc.pkg.info.Defs[p.names[0]].(*types.TypeName)
		if !ok {
			continue
		}
		if holdsValue(t, own, true) || open != nil && (types.Implements(own.Type(), open) ||
			types.Implements(types.NewPointer(own.Type()), open)) {
			return "it takes or returns a " + own.Name() + ", which versions may change"
		}
	}
	return ""
}

// isPrivate reports whether no code beside the group uses the unexported fields of a type that has
// some.
func (sc *Scope) isPrivate(name string, in map[*piece]bool) bool {
	s, ok := sc.pkg.Types.Scope().Lookup(name).Type().Underlying().(*types.Struct)
	if !ok || !slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool { return !f.Exported() }) {
		return false
	}
	return !slices.ContainsFunc(sc.pkg.graph.all, func(p *piece) bool { return !in[p] && sc.pkg.touches(p, name) })
}

// A term is a condition that the options state.
type term struct {
	function string // of a group; "" for all that the condition fits
	expr     string
}

// terms splits the conditions of a group: "Encode: n >= 0; len(s) > 0" are two.
func terms(text string) (out []term) {
	fset := token.NewFileSet()
	// Scan the tokens, for a text may contain a semicolon itself.
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0) // condition reports the errors
	add := func(part string) {
		t := term{expr: strings.TrimSpace(part)}
		if name, expr, ok := strings.Cut(part, ":"); ok && IsFunctionName(strings.TrimSpace(name)) {
			t = term{strings.TrimSpace(name), strings.TrimSpace(expr)}
		}
		if t.expr != "" || t.function != "" {
			out = append(out, t)
		}
	}
	// A semicolon counts outside of all brackets.
	for depth, from := 0, 0; ; {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		case token.SEMICOLON:
			if depth == 0 && lit == ";" {
				add(text[from:file.Offset(pos)])
				from = file.Offset(pos) + 1
			}
		case token.EOF:
			add(text[from:])
			return out
		}
	}
}

// demanded returns the conditions of the options on the target. For a group it returns those that
// name the recorded function or fit it.
func (c *Conditions) demanded() (out []string) {
	if c.scope.group == nil {
		return []string{c.opts.Requires}
	}
	for _, t := range terms(c.opts.Requires) {
		if t.function == c.opts.Entry {
			out = append(out, t.expr)
		} else if _, err := c.condition(c.formals(), t.expr); t.function == "" && err == nil {
			out = append(out, t.expr)
		}
	}
	return out
}

// readGroup reads the conditions on a group's recorded calls from the options and the comments.
func (c *Conditions) readGroup() error {
	if c.opts.Entry != "" {
		return nil
	}
	// Sort the demands of the options by function.
	c.terms = map[string][]string{}
	recorded := c.scope.Recordable()
	for _, t := range terms(c.opts.Requires) {
		names, err := c.demandedOf(t, recorded)
		if err != nil {
			return err
		}
		for _, name := range names {
			c.terms[name] = append(c.terms[name], t.expr)
		}
	}
	// Then read the comments of each recorded function, together with these.
	var said []string
	for _, name := range recorded {
		p := c.pkg.function(name)
		exprs, _ := demands(p)
		all, err := c.conditions(c.formalsOf(p), append(exprs, c.terms[name]...))
		if err != nil {
			return err
		}
		if all != nil {
			said = append(said, name+": "+all.Text)
		}
	}
	c.target.Contract.Requires = strings.Join(said, "; ")
	return nil
}

// demandedOf returns the functions of a group that a condition binds: the named one, or all
// recorded functions that it fits.
func (c *Conditions) demandedOf(t term, recorded []string) (out []string, err error) {
	// A named function must be one whose calls are recorded, and the condition must fit it.
	if t.function != "" {
		why, err := c.scope.Unrecorded(t.function)
		if err == nil && why != "" {
			err = c.scope.refuseGroup(fmt.Sprintf("--requires %q: no call of %s is recorded by itself: %s", t.expr,
				t.function, why), noRecords)
		}
		if err == nil {
			_, err = c.condition(c.formalsOf(c.pkg.function(t.function)), t.expr)
		}
		return []string{t.function}, err
	}
	// Without a name the condition binds every function that it fits.
	var first error
	for _, name := range recorded {
		if _, bad := c.condition(c.formalsOf(c.pkg.function(name)), t.expr); bad == nil {
			out = append(out, name)
		} else {
			first = cmp.Or(first, bad)
		}
	}
	switch {
	case len(recorded) == 0:
		return nil, c.scope.refuseGroup(fmt.Sprintf("--requires %q: no function has calls that are recorded by "+
			"themselves: %s", t.expr, c.scope.NoneRecorded()), noRecords)
	case len(out) == 0:
		return nil, first
	}
	return out, nil
}

// noRecords returns what to do where a condition cannot count.
const noRecords = "leave it out: versions are compared on the calls that the package's tests make, whatever they " +
	"are; or name one function as the target"

// statedIn returns the demands of the options on a function that a version's comment states.
func (c *Conditions) statedIn(p *piece, doc string) []string {
	return slices.DeleteFunc(c.stated(p), func(l string) bool { return !strings.Contains(doc, l+"\n") })
}

// piecesBetween returns the pieces of the package, beside a group, through which one of its
// functions calls another. All versions share them.
func (sc *Scope) piecesBetween() map[*piece]bool {
	sc.group.joining.Do(func() { sc.group.between = sc.findBetween() })
	return sc.group.between
}

// findBetween returns the declarations outside of a group through which the group may call itself:
// they are reached from it, and lead back to its functions.
func (sc *Scope) findBetween() map[*piece]bool {
	in, reached, out := setOf(sc.pieces), map[*piece]bool{}, map[*piece]bool{}
	var visit func(p *piece)
	visit = func(p *piece) {
		for q := range sc.pkg.graph.uses[p].pieces {
			if !in[q] && !reached[q] {
				reached[q] = true
				visit(q)
			}
		}
	}
	for _, p := range sc.pieces {
		visit(p)
	}
	// Go backwards from the group's functions until nothing is added.
	for changed := true; changed; {
		changed = false
		for p := range reached {
			for q := range sc.pkg.graph.uses[p].pieces {
				if !out[p] && (in[q] && q.kind == "func" || out[q]) {
					out[p], changed = true, true
				}
			}
		}
	}
	return out
}

// JoinCopies adds to a version of a group copies of the functions outside that it calls and that
// call the group. In a program with several versions, the originals of these functions would call
// the original group.
func (cp *Copies) JoinCopies(src string) string {
	joined, _ := cp.joinCopies(src)
	return joined
}

func (cp *Copies) joinCopies(src string) (string, []string) {
	if cp.scope.group == nil || len(cp.scope.piecesBetween()) == 0 {
		return src, nil
	}
	return cp.widen(src, limits{lines: math.MaxInt, long: math.MaxInt, depth: math.MaxInt,
		only: cp.scope.piecesBetween()})
}

// Detours names the code outside a group, such as variables, that calls functions of the group
// during a call and that [Copies.JoinCopies] does not copy.
func (cp *Copies) Detours() (out []string) {
	_, copies := cp.joinCopies(cp.target.Source)
	copied := map[*piece]bool{}
	for _, name := range copies {
		copied[cp.privates()[name]] = true
	}
	for _, p := range inOrder(maps.Keys(cp.scope.piecesBetween()), cp.scope.target) {
		if !copied[p] && p.kind != "type" {
			out = append(out, p.keys()[0])
		}
	}
	return out
}
