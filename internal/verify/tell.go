package verify

import (
	"fmt"
	"go/ast"
	"go/parser"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/tail"
)

// These constants bound how much of a value a report shows.
const (
	maxText      = 64  // bytes of a text
	shownText    = 32  // of a longer text
	maxElems     = 8   // of a list
	shownElems   = 4   // of a longer list
	maxShown     = 300 // bytes of a value in all
	contextBytes = 32  // bytes on each side of where two long values differ
)

// inOneLine describes how the candidate differs from the original:
//
//	F("a\xe6") = "aa", want "a-a"
func (e *Env) inOneLine(d *rt.Diff) string {
	t := &e.Unit.Target
	call := ""
	if len(d.Call) == len(t.Params) && len(d.Call) > 0 {
		args := make([]string, len(d.Call))
		for i, arg := range d.Call {
			args[i] = brief(arg)
		}
		call = CallText(t, args)
		for _, s := range d.Setup {
			name, memory, _ := strings.Cut(s, " := ")
			call = name + " := " + brief(memory) + "; " + call
		}
	}
	return strings.ReplaceAll(difference(call, d), "\n", " ")
}

// difference is inOneLine for a given call; call is "" if the call is unknown.
func difference(call string, d *rt.Diff) string {
	general := (&beagle.Counterexample{Kind: d.Kind}).Difference()
	switch {
	case d.Check == rt.CheckSealed || d.Check == rt.CheckEnded:
		general = d.Check
	case d.Check != "":
		general += ": " + d.Check
	case d.Kind == "hang" || d.Kind == "crash":
		general = d.Got
	}
	want, got := briefPair(d.Want, d.Got)
	told := outcome(got)
	switch {
	case call == "":
		return general
	case want == got || told == "" || d.Kind == "alias" || general == d.Check:
		return call + ": " + general
	}
	text := call + told + wordOutcome(want)
	if d.Check != "" {
		text += " (" + d.Check + ")"
	}
	return text
}

// outcome words the outcome of a call. It returns "" for anything else.
func outcome(did string) string {
	if values, ok := strings.CutPrefix(did, "returns "); ok {
		return " = " + tuple(values)
	}
	if text, ok := strings.CutPrefix(did, "panic: "); ok {
		return " panics (" + text + ")"
	}
	if strings.HasPrefix(did, "leaves ") {
		return " " + did
	}
	return ""
}

// wordOutcome words the original's outcome.
func wordOutcome(did string) string {
	if values, ok := strings.CutPrefix(did, "returns "); ok {
		return ", want " + tuple(values)
	}
	if text, ok := strings.CutPrefix(did, "panic: "); ok {
		return ", want a panic (" + text + ")"
	}
	return ", want " + strings.TrimPrefix(did, "leaves ")
}

// tuple puts several results into parentheses.
func tuple(values string) string {
	if e, err := parser.ParseExpr("f(" + values + ")"); err == nil {
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 1 {
			return "(" + values + ")"
		}
	}
	return values
}

// briefPair shortens the outcomes of two versions. If the difference would get lost, it cuts both
// out around the difference.
func briefPair(want, got string) (string, string) {
	w, g := briefDeed(want), briefDeed(got)
	if w != g || want == got {
		return w, g
	}
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	verb, _, _ := strings.Cut(w, " ")
	return verb + " " + window(want, at), verb + " " + window(got, at)
}

// window returns the part of a text around a place.
func window(s string, at int) string {
	from, to := max(at-contextBytes, 0), min(at+contextBytes, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return fmt.Sprintf("... %s ...", s[from:to])
}

// briefDeed shortens the values in the outcome of a version.
func briefDeed(did string) string {
	for _, verb := range []string{"returns ", "leaves the arguments as "} {
		if values, ok := strings.CutPrefix(did, verb); ok {
			return verb + brief(values)
		}
	}
	return tail.Short(did, maxShown)
}

// brief shortens Go expressions, separated by commas, for readers. It cuts long texts and lists off
// where their kind is clear.
func brief(exprs string) string {
	if len(exprs) <= maxText {
		return exprs
	}
	const open = "f("
	src := open + exprs + ")"
	e, err := parser.ParseExpr(src)
	if err != nil {
		return tail.Short(exprs, maxShown)
	}
	b := briefer{src: src}
	b.walk(e)
	b.out.WriteString(src[b.done:])
	out := b.out.String()
	return tail.Short(strings.TrimSuffix(strings.TrimPrefix(out, open), ")"), maxShown)
}

// A briefer copies an expression and leaves out parts of it.
type briefer struct {
	src  string
	done int // the end of what was copied or left out
	out  strings.Builder
}

// walk goes through an expression from left to right.
func (b *briefer) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && len(s) > maxText {
				head := shownText
				for head > 0 && !utf8.RuneStart(s[head]) {
					head--
				}
				b.replace(n, fmt.Sprintf("%s... (%d bytes)", strconv.Quote(s[:head]), len(s)))
			}
		case *ast.CompositeLit:
			if len(n.Elts) <= maxElems {
				return true
			}
			for _, e := range n.Elts[:shownElems] {
				b.walk(e)
			}
			b.out.WriteString(b.src[b.done : n.Elts[shownElems].Pos()-1])
			fmt.Fprintf(&b.out, "... %d in all", len(n.Elts))
			b.done = int(n.Elts[len(n.Elts)-1].End()) - 1
			return false
		}
		return true
	})
}

func (b *briefer) replace(n ast.Node, text string) {
	b.out.WriteString(b.src[b.done:n.Pos()-1] + text)
	b.done = int(n.End()) - 1
}
