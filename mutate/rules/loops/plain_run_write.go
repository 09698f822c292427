package loops

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A runText is what a run of plain bytes becomes.
type runText struct {
	p          *mutate.Pass
	l          *byteLoop
	seq, index string
	start      string // the name of where a run begins
	edits      []mutate.Edit
	size       string // for a range over characters, the size of one
}

// rewritePlainRun puts a loop over plain bytes at the start of the body, with its effect as a whole
// after it. The original body follows, for the byte that ended the run.
func rewritePlainRun(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	l := s.Data.(*byteLoop)
	r := &runText{p: p, l: l, start: p.Fresh("start", "runStart")}
	head := r.head()
	var run string
	switch param.Value {
	// All variants differ only in how they find the end of the run.
	case "index":
		run = r.indexed()
	case "words":
		run = r.words()
	case "compare":
		run = r.each(r.compared())
	default:
		run = r.each(r.lookedUp())
	}
	// The loop's own head is replaced, and its body follows.
	r.edits = append(r.edits, p.Span(l.stmt.Pos(), l.body.Lbrace+1, head+"\n"+run+r.element()))
	return edit.WithImports(p, r.edits, "bytes", "strings", "unicode/utf8"), nil
}

// head is the loop's head, as one that counts.
func (r *runText) head() string {
	p, l := r.p, r.l
	// A for loop keeps its head.
	s, ok := l.stmt.(*ast.RangeStmt)
	if !ok {
		r.seq, r.index = l.seq.Name(), l.index.Name()
		return p.Between(l.stmt.Pos(), l.body.Lbrace+1)
	}
	// A range becomes a loop that counts, so that the run can move the index.
	r.index = p.Fresh("i", "at")
	if l.index != nil {
		r.index = l.index.Name()
	}
	if !l.runes {
		r.seq = l.seq.Name()
		return fmt.Sprintf("for %s := 0; %s < len(%s); %s++ {", r.index, r.index, r.seq, r.index)
	}
	// Over a string the step is the size of the rune.
	var edits []mutate.Edit
	r.seq, edits, _ = steadyText(p, s)
	r.edits = append(r.edits, edits...)
	r.size = p.Fresh("size", "width")
	return fmt.Sprintf("for %s, %s := 0, 0; %s < len(%s); %s += %s {", r.index, r.size, r.index, r.seq, r.index, r.size)
}

// element declares the value of a range.
func (r *runText) element() string {
	v := r.l.value
	switch {
	case v == nil:
		return ""
	case !r.l.runes:
		return fmt.Sprintf("\n%s := %s[%s]", v.Name(), r.seq, r.index)
	}
	return fmt.Sprintf("\n%s := rune(%s[%s])\n%s = 1\nif %s >= utf8.RuneSelf {\n"+
		"%s, %s = utf8.DecodeRuneInString(%s[%s:])\n}",
		v.Name(), r.seq, r.index, r.size, v.Name(), v.Name(), r.size, r.seq, r.index)
}

// each asks of one byte after the other whether it is plain.
func (r *runText) each(is string) string {
	i := r.index
	return fmt.Sprintf("if %s%s {\nfor %s++; %s < len(%s) && %s; %s++ {\n}\n%s}", r.begin("; "), is, i, i, r.seq, is, i,
		r.done())
}

// compared asks whether the byte at the index is plain, by comparisons.
func (r *runText) compared() string {
	return strings.Join(r.l.comparisons(r.seq+"["+r.index+"]"), " && ")
}

// lookedUp asks it by a table.
func (r *runText) lookedUp() string { return r.name("plain") + "[" + r.seq + "[" + r.index + "]]" }

// begin notes where a run begins, if that matters after it.
func (r *runText) begin(end string) string {
	if t := r.l.action; t.sink == nil && len(t.counts) == 0 {
		return ""
	}
	return r.start + " := " + r.index + end
}

// name declares the table and returns its name.
func (r *runText) name(base string) string {
	p, l := r.p, r.l
	does := "passes over"
	if l.action.sink != nil {
		does = "only copies"
	}
	fn := p.FuncOf(l.stmt).Name.Name
	name := p.Fresh(base+edit.UpperFirst(edit.BaseName(fn)), base+"Bytes")
	r.edits = append(r.edits, p.Declare(l.stmt, characters.Table(name, l.set, "the bytes that "+fn+" "+does)))
	return name
}

// indexed searches the only byte that is not plain.
func (r *runText) indexed() string {
	l := r.l
	char := 0
	// One byte is not in the set of plain ones.
	for c, plain := range l.set {
		if !plain {
			char = c
		}
	}
	pkg := "bytes"
	if l.runes || syntax.IsText(l.seq.Type()) {
		pkg = "strings"
	}
	n := r.p.Fresh("run", "plainRun")
	return fmt.Sprintf("if %s := %s.IndexByte(%s[%s:], %s); %s != 0 {\nif %s < 0 {\n%s = len(%s) - %s\n}\n"+
		"%s%s += %s\n%s}", n, pkg, r.seq, r.index, edit.ByteText(char), n, n, n, r.seq, r.index, r.begin("\n"),
		r.index, n,
		r.done())
}

// words asks of eight bytes at a time, and of the rest one by one.
func (r *runText) words() string {
	p, l, i := r.p, r.l, r.index
	load, edits := characters.LoadWord(p, l.stmt, l.seq, fmt.Sprintf("%s[%s:]", r.seq, i))
	all := p.Fresh("allPlain", "wordPlain")
	is := r.compared()
	if len(l.comparisons("c")) > maxComparisons {
		is = r.lookedUp()
	}
	r.edits = append(append(r.edits, edits...), p.Declare(l.stmt, characters.WordTest(all, characters.Ranges(l.set))))
	return fmt.Sprintf("if %s%s {\nfor %s+8 <= len(%s) && %s(%s) {\n%s += 8\n}\nfor %s < len(%s) && %s {\n%s++\n}\n%s}",
		r.begin("; "), is, i, r.seq, all, load, i, i, r.seq, is, i, r.done())
}

// done does with the run from start to the index what the iterations would have done.
func (r *runText) done() string {
	// The run from start to index goes out in one piece, in the form of the sink: appended to a
	// list, added to a text or written to a writer.
	var out strings.Builder
	t := r.l.action
	cut := fmt.Sprintf("%s[%s:%s]", r.seq, r.start, r.index)
	isText := r.l.runes || syntax.IsText(r.l.seq.Type())
	// A text is written as one, bytes as bytes.
	if t.sink != nil {
		place := r.p.Text(t.sink.place)
		switch {
		case t.sink.kind == appendSink:
			fmt.Fprintf(&out, "%s = append(%s, %s...)\n", place, place, cut)
		case t.sink.kind == joinSink && !isText:
			fmt.Fprintf(&out, "%s += string(%s)\n", place, cut)
		case t.sink.kind == joinSink:
			fmt.Fprintf(&out, "%s += %s\n", place, cut)
		case isText:
			fmt.Fprintf(&out, "%s.WriteString(%s)\n", place, cut)
		default:
			fmt.Fprintf(&out, "%s.Write(%s)\n", place, cut)
		}
	}
	// An assignment of a constant has the same result once as once for each element.
	for _, s := range t.sets {
		out.WriteString(s + "\n")
	}
	// A counter grows by its step for each element of the run. The number of elements is an int,
	// and may need a conversion.
	for _, c := range t.counts {
		n, op, by := r.index+" - "+r.start, "+=", c.by
		if by < 0 { // an unsigned type has no negative factor
			op, by = "-=", -by
		}
		if name := types.Unalias(c.v.Type()).String(); name != "int" {
			n = name + "(" + n + ")"
		} else if by != 1 {
			n = "(" + n + ")"
		}
		if by != 1 {
			n = fmt.Sprintf("%d * %s", by, n)
		}
		fmt.Fprintf(&out, "%s %s %s\n", c.v.Name(), op, n)
	}
	return out.String() + r.leave()
}

// leave goes on after a run: to the end of the loop, or to the byte that ended the run.
func (r *runText) leave() string {
	if r.l.bare || r.size != "" || len(r.l.tests) > 0 {
		return r.again()
	}
	return fmt.Sprintf("if %s >= len(%s) {\nbreak\n}\n", r.index, r.seq)
}

// again begins an iteration at the byte that ended the run.
func (r *runText) again() string {
	switch {
	case r.size != "":
		return r.size + " = 0\ncontinue\n"
	case r.l.bare:
		return "continue\n"
	}
	return r.index + "--\ncontinue\n"
}
