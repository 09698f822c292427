package effects

import (
	_ "embed"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"sync"
)

//go:generate sh -c "go run ./gen >std.txt.new && mv std.txt.new std.txt"

//go:embed std.txt
var derived string

//go:embed reviewed.txt
var reviewed string

// Reviewed returns the table that people wrote after reading functions whose source the analysis
// cannot follow.
func Reviewed() (*Table, error) { return readTable(strings.NewReader(reviewed)) }

// Standard returns the table of the standard library: the derived lines, replaced by the reviewed
// ones where both exist.
var Standard = sync.OnceValue(func() *Table {
	t, err := readTable(strings.NewReader(derived), strings.NewReader(reviewed))
	if err != nil {
		panic(err) // the tests read both files
	}
	return t
})

// Coarse reduces a summary to the table's form. It drops fields, sentinel errors, and package
// memory that only the package itself sees.
func Coarse(s *Summary, sig *types.Signature) *Summary {
	out := new(Summary)
	// The package's own variables do not count: no caller sees them.
	for _, w := range s.Writes {
		if w.Kind != Shared {
			out.Writes = append(out.Writes, coarse(w))
		}
	}
	// A store into itself says nothing, and new memory in a package variable has no owner.
	for _, k := range s.Stores {
		if into, from := coarse(k.Into), coarse(k.From); into != from && (into.Kind != Shared || from.Kind != Fresh) {
			out.Stores = append(out.Stores, Store{into, from})
		}
	}
	for _, r := range s.Runs {
		r.Code, r.Arg = coarse(r.Code), coarse(r.Arg)
		out.Runs = append(out.Runs, r)
	}
	// An error leads to sentinels and texts only.
	for i, list := range s.Results {
		var to []Result
		if !syntax.IsError(sig.Results().At(i).Type()) {
			for _, r := range list {
				to = append(to, Result{WholeValue, coarse(r.Ref), r.Deep})
			}
		}
		out.Results = append(out.Results, to)
	}
	return out
}

func coarse(r Ref) Ref {
	r.Field, r.By = WholeValue, ""
	if r.Kind == Shared {
		r.Name = ""
	}
	return r
}
