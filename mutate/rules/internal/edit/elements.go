package edit

import (
	"fmt"
	"go/ast"
	"slices"

	"github.com/beagle-go/beagle/mutate"
)

func StartOf(l *mutate.ElementLoop) string {
	if l.Start == 0 {
		return l.Seq.Name()
	}
	return fmt.Sprintf("%s[min(%d, len(%s)):]", l.Seq.Name(), l.Start, l.Seq.Name())
}

// RemainderLoop returns the original loop, over the rest.
func RemainderLoop(p *mutate.Pass, l *mutate.ElementLoop, rest string) string {
	// The rest is shorter than a step, so the loop takes its elements one by one.
	body := p.TextWith(l.Body, func(n ast.Node) (string, bool) {
		if ix, ok := n.(*ast.IndexExpr); ok && slices.Contains(l.Elems, ix) {
			return rest + "[" + l.Index.Name() + "]", true
		}
		return "", false
	})
	if l.Value != nil {
		// The index may be needed by the body as well.
		index := "_"
		if len(l.Elems) > 0 {
			index = l.Index.Name()
		}
		return fmt.Sprintf("for %s, %s := range %s %s", index, l.Value.Name(), rest, body)
	}
	return CountTo(p, l.Index.Name(), "len("+rest+")") + body
}
