// Package example makes rewrites from typed examples. A [Rule] holds pairs of Go functions, Before
// and After, which compile with the program and behave alike. The engine finds code that matches a
// Before, and writes the After in its place.
//
// The parameters of Before are metavariables:
//
//   - A parameter stands for any expression of its type. Where Before is generic, types are found
//     too.
//   - A parameter that Before assigns stands for a local variable.
//   - A parameter of a function type that Before calls stands for code: for an expression if it
//     has a result, for statements if it has none. Its arguments are what this code may use of the
//     example: `body(i)` matches statements that may mention i. `body(&s[i])` lets them assign
//     s[i] too.
//   - A parameter of type iter.Seq2 that Before ranges over stands for the head of any loop
//     through elements, runes, a map or numbers. After keeps the head as it is spelled.
//   - Variables that Before declares stand for variables of the code.
//
// The body of Before says how much it matches:
//
//   - A body that is one `return E` matches the expression E, which may be a call of several
//     results.
//   - A last `return v, w` of variables is not matched: it names the variables that live on. All
//     others must be unused after the match.
//   - Statements in front of a last `return E` match statements, and E in the statement after
//     them.
//   - If Before or After has other returns, the body is matched as it stands.
//
// Code need not be spelled as Before is. The engine compares normal forms: `i++` and `i += 1`, all
// heads of a loop through the same elements, s[i] and the value of the range, swapped operands of
// commutative operators, `!(a == b)` and `a != b`, `n > 0` and `n != 0` of a length, old and new
// names of library functions. Statements that end in `break` also match statements that end in a
// return.
//
// A name for a value makes no difference where Before has a call, an element or a part: a variable
// that keeps its first value and is read once is matched as that value, and its declaration goes.
//
// The engine refuses a match when After would run code more often, less often or at another time,
// unless that code has no effects and keeps its value.
package example

import (
	"fmt"
	"slices"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// A Rule is a rewrite defined by examples.
type Rule struct {
	Name, Doc string
	Class     beagle.Class
	Gain      float64
	// Source is the text of the file that holds this literal, by go:embed. The engine reads the
	// examples there.
	Source string
	Pairs  []Pair
	// Guard adds a condition that the examples do not say; nil adds none.
	Guard func(*Match) bool
	// Go is the least minor version of the module's language, such as 21.
	Go int
	// Label names a place for readers; the default is the start of the matched text.
	Label func(*Match) string
	// Code finds places that no example can express. Their Data are the edits, as []mutate.Edit.
	Code func(*mutate.Pass) []mutate.Site
	// Together makes one step of all places, of which one alone is not worth a step. The pairs of
	// such a rule have one After each, what Code finds needs no imports, and Label gets nil.
	Together bool
}

// A Pair is one example: two functions of one type.
type Pair struct {
	Before, After any
	// Also holds further Afters, from which the search chooses.
	Also []Way
	// When is a function of some of the parameters, by their names. These must be constants, and
	// When must return true for their values.
	When any
	// Given is a function of some of the parameters that limits the inputs of the pair's test,
	// such as to lengths that fit in memory. It limits no match.
	Given any
	// Guard is a condition of this pair, in addition to the rule's.
	Guard func(*Match) bool
	// Choice names After when Also holds other ways.
	Choice string
	// Go is the least minor version of the module's language for this pair.
	Go int

	// AnyOrder says that After runs the statements of Before in another order. No two of the
	// pieces of code that parameters stand for may use what another one changes.
	AnyOrder bool
	// Spent names parameters that stand for slices of which nothing is read after the match, but
	// perhaps the length. Their memory must be the function's own.
	Spent []string

	places, given, spent []int
}

// SpentPlaces returns which parameters of Before are spent.
func (p Pair) SpentPlaces() []int { return p.spent }

// GivenPlaces returns, for each parameter of Given, which parameter of Before has its name.
func (p Pair) GivenPlaces() []int { return p.given }

// Places returns, for each parameter of When, which parameter of Before has its name.
func (p Pair) Places() []int { return p.places }

// A Way is a further After of a Pair.
type Way struct {
	Choice string
	After  any
}

// Mutator makes a rewrite of the examples, which are compiled when it is first used: a command that
// applies no rules starts sooner. Then it panics if they are no examples, as package regexp does in
// MustCompile: a rule is a value of the program.
func (r Rule) Mutator() *mutate.Mutator {
	// Compiling is put off until the first use, and then kept for the whole process.
	examples := sync.OnceValue(r.compiled)
	registered = append(registered, examples)
	m := &mutate.Mutator{
		Name: r.Name, Doc: r.Doc, Class: r.Class, Gain: r.Gain,
		Example: func() (before, after string) {
			first := examples().pairs[0]
			return first.before.readableText(), first.ways[0].readableText()
		},
		Find: func(p *mutate.Pass) []mutate.Site { return examples().find(p) },
		Rewrite: func(p *mutate.Pass, s mutate.Site, choice mutate.Param) ([]mutate.Edit, error) {
			return examples().rewrite(p, s, choice)
		},
	}
	// A choice is shown only where there is one to make.
	if slices.ContainsFunc(r.Pairs, func(p Pair) bool { return len(p.Also) > 0 }) {
		m.Params = func(p *mutate.Pass, s mutate.Site) []mutate.Param { return examples().params(p, s) }
	}
	return m
}

// compiled compiles the pairs and tells each where its conditions find their parameters.
func (r Rule) compiled() *compiled {
	c, err := compile(&r)
	if err != nil {
		panic(fmt.Sprintf("example %s: %v", r.Name, err))
	}
	for i, p := range c.pairs {
		r.Pairs[i].places, r.Pairs[i].given = p.places(p.when), p.places(p.given)
		r.Pairs[i].spent = p.spentPlaces()
	}
	return c
}

// registered holds the rules of the program, for tests.
var registered []func() *compiled

// Registered returns all rules that were made with [Rule.Mutator], for tests that run their pairs.
func Registered() (all []Rule) {
	for _, examples := range registered {
		all = append(all, *examples().rule)
	}
	return all
}
