package verify

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// timed refuses a version without any function that works in constant time, where the original has
// one: the time of a comparison then tells how much of a secret a guess has right. No run shows
// that, and such a version is always faster.
func timed(orig, cand *code) []Violation {
	call, name := constantTime(orig)
	if call == nil {
		return nil
	}
	if kept, _ := constantTime(cand); kept != nil {
		return nil
	}
	return []Violation{{
		Line: cand.fset.Position(cand.fn.Pos()).Line, Construct: cand.fn.Name.Name + " without " + name,
		Why: fmt.Sprintf("the original calls it in line %d, so that the time of a call reveals nothing about the "+
			"values",
			orig.fset.Position(call.Pos()).Line),
	}}
}

// constantTime returns the first use of a function that works in constant time; nil if there is
// none.
func constantTime(c *code) (first *ast.Ident, name string) {
	for id, obj := range c.info.Uses {
		f, ok := obj.(*types.Func)
		if !ok || !c.contains(id) {
			continue
		}
		text := objectName(syntax.Origin(f))
		if !strings.HasPrefix(text, "crypto/subtle.") && text != "crypto/hmac.Equal" {
			continue
		}
		if first == nil || id.Pos() < first.Pos() {
			first, name = id, text
		}
	}
	return first, name
}
