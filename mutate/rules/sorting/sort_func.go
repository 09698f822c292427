package sorting

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// sortFunc (catalogue O1) matches sort.Slice with a function that compares keys of two elements. It
// calls slices.SortFunc with cmp.Compare on the keys.
var sortFunc = &mutate.Mutator{
	Name: "sort-func",
	Doc: "Sort with slices.SortFunc instead of sort.Slice, which swaps by reflection and calls the comparison with " +
		"indexes. Legal because both run the same algorithm with the same answers; keys are integers, strings or " +
		"times, for which comparing is a total order, or a function compares them.",
	Example: mutate.Shows(`sort.Slice(users, func(i, j int) bool { return users[i].Name < users[j].Name })`,
		`slices.SortFunc(users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })`),
	Class: beagle.E0,
	Gain:  1.8,
	Find:  edit.SitesOf(sortOf, func(p *mutate.Pass, s *sortCall) string { return "sort of " + p.Text(s.list) }),
	Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
		return s.Data.(*sortCall).rewrite(p)
	},
}

// rewrite sorts by an order of elements, which compares the keys one after the other.
func (s *sortCall) rewrite(p *mutate.Pass) ([]mutate.Edit, error) {
	name := "SortFunc"
	if s.stable {
		name = "SortStableFunc"
	}
	// The parameters hide no name that the keys use.
	a, b := p.Fresh("a", "x"), p.Fresh("b", "y")
	text := fmt.Sprintf("slices.%s(%s, func(%s, %s %s) int {", name, p.Text(s.list), a, b, s.elem)
	for n, k := range s.keys {
		if n == len(s.keys)-1 {
			text += s.tail(len(s.keys), "return "+s.compare(p, k, a, b)) + "}"
			break
		}
		c := p.Fresh("c")
		text += fmt.Sprintf("\nif %s := %s; %s != 0 {\nreturn %s\n}", c, s.compare(p, k, a, b), c, c)
	}
	return edit.WithImports(p, []mutate.Edit{p.Replace(s.call, text+")")}, "slices", "cmp", "strings"), nil
}

func (s *sortCall) tail(keys int, text string) string {
	if keys == 1 && !strings.Contains(text, "\n") && len(text) < 70 {
		return " " + text + " "
	}
	return "\n" + text + "\n"
}

// compare writes the comparison of one key of two elements, by the key's own method or function if
// it has one.
func (s *sortCall) compare(p *mutate.Pass, k sortKey, a, b string) string {
	// A descending key compares the other way around.
	if k.reversed {
		a, b = b, a
	}
	first, second := s.with(p, k.less, a), s.with(p, k.more, b)
	switch {
	case k.method != "":
		return first + "." + k.method + "(" + second + ")"
	case k.compares != nil:
		return p.Text(k.compares) + "(" + first + ", " + second + ")"
	case facts.IsExactString(p, k.less):
		return "strings.Compare(" + first + ", " + second + ")"
	}
	return "cmp.Compare(" + first + ", " + second + ")"
}
