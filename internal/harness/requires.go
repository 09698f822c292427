package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// predicates returns those of the target's own contract: one, or none.
func (b *Builder) predicates() []*source.Predicate {
	if b.u.Conditions.Requires == nil {
		return nil
	}
	return []*source.Predicate{b.u.Conditions.Requires}
}

// OwnPredicates returns how many predicates every program has for the target's own contract.
func (b *Builder) OwnPredicates() int { return len(b.predicates()) }

// Terms returns the target's contract as a request states it; nil for none.
func (b *Builder) Terms() *rt.Terms {
	c := &b.target.Contract
	if c.IsZero() {
		return nil
	}
	t := &rt.Terms{Ignore: c.Ignore}
	for i := range b.predicates() {
		t.Requires = append(t.Requires, i)
	}
	return t
}

// requires writes a file that declares one function for each predicate, over
// the target's parameters under their own names, and hands all of them to rt.
// It stands apart from the shim, whose lines belong to versions.
func (s *frame) requires(t *beagle.Target, list []*source.Predicate) ([]byte, error) {
	own := *s
	own.imports = maps.Clone(s.imports)
	params := make([]string, len(s.params))
	for i, typ := range s.params {
		params[i] = t.Params[i].Name + " " + typ
	}
	// Write one function for each predicate, and an init function that registers them.
	var body bytes.Buffer
	for i, p := range list {
		text := p.Render(t.Params, own.imports.Name)
		fmt.Fprintf(&body, "func beagleRequires%d(%s) bool { return %s }\n", i, strings.Join(params, ", "), text)
	}
	body.WriteString("\nfunc init() {\n\tbeaglert.Predicates = []any{\n")
	for i := range list {
		fmt.Fprintf(&body, "\t\tfunc(a *beagleArgs) bool { return beagleRequires%d(%s) },\n", i,
			callArgs(0, len(params), false))
	}
	body.WriteString("\t}\n}\n")
	// Import only the packages that the predicates name.
	var b bytes.Buffer
	b.WriteString(goBuildLine + "package " + s.pkg + "\n\nimport (\n")
	for _, path := range inorder.Keys(own.imports) {
		if name := own.imports[path]; bytes.Contains(body.Bytes(), []byte(name+".")) {
			fmt.Fprintf(&b, "\t%s %q\n", name, path)
		}
	}
	b.WriteString(")\n\n")
	b.Write(body.Bytes())
	return b.Bytes(), nil
}

// WithTerms returns the same program with another contract for requests that name none.
func (bin *Binary) WithTerms(t *rt.Terms) *Binary {
	other := *bin
	other.terms = t
	return &other
}

// Sift evaluates the predicates of a program over records.
func (bin *Binary) Sift(ctx context.Context, box *sandbox.Sandbox, records []beagle.Record) (*rt.Sifted, error) {
	out := new(rt.Sifted)
	if len(records) == 0 {
		return out, nil
	}
	f, err := os.CreateTemp(bin.dir, "sift")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(f.Close(), WriteRecords(f.Name(), records)); err != nil {
		return nil, err
	}
	exit, err := bin.Run(ctx, box, &rt.Request{Sift: &rt.Sift{Records: "records"}}, out, RunOptions{
		CPU:   -1,
		Files: map[string]string{"records": f.Name()},
	})
	if err == nil && exit != nil {
		err = fmt.Errorf("evaluating the contract: %v", exit)
	}
	return out, err
}
