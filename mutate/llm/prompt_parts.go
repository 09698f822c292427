package llm

import (
	"fmt"
	"slices"
	"strings"
)

// A part is a section of the question.
type part struct {
	name   string // for Prompt.Cut
	title  string
	limit  int
	render func(limit int) string // at most limit bytes; empty if there is nothing to say, or no room
	made   map[int]string         // results of render, by limit
}

func newPart(name, title string, limit int, render func(int) string) *part {
	return &part{name: name, title: title, limit: limit, render: render, made: map[int]string{}}
}

// at returns the part's body within a limit, and renders it once.
func (p *part) at(limit int) string {
	text, ok := p.made[limit]
	if !ok {
		text = p.render(limit)
		p.made[limit] = text
	}
	return text
}

// body returns the part's body within the part's own limit.
func (p *part) body() string {
	if whole := p.whole(); len(whole) <= p.limit {
		return whole
	}
	return p.at(p.limit)
}

// text returns the part with its title, within its limit.
func (p *part) text() string {
	body := p.body()
	if body == "" {
		return ""
	}
	return "# " + p.title + "\n\n" + strings.TrimRight(body, "\n") + "\n\n"
}

// whole returns the part's body without a limit.
func (p *part) whole() string { return p.at(1 << 30) }

// parts returns the sections of the question in reading order. Sections that stay the same for a
// target come first.
func (e *Evidence) parts(l Limits, taught []Lesson) []*part {
	return []*part{
		newPart("target", "The function", 2<<10, e.target),
		newPart("callees", "What it calls", l.Callees, e.callees),
		newPart("corpus", "What it receives", l.Corpus, e.corpus),
		newPart("lessons", "What is known to help", l.Lessons, func(n int) string { return lessonsInWords(taught, n) }),
		newPart("tried", "What was tried", l.Tried, e.tried),
		newPart("good", "Other good versions", l.Good, e.good),
		newPart("source", "The version to change", l.Source, e.source),
		newPart("mate", "The other parent", l.Source, e.mate),
		newPart("profile", "Where its time goes", l.Profile, func(n int) string {
			return inBlock(hotLines(&e.Parent), n, "lines")
		}),
		newPart("compiler", "What the compiler says of it", l.Compiler, func(n int) string {
			return inBlock(noteLines(&e.Parent), n, "notes")
		}),
		newPart("assembly", "Its hot loop", l.Assembly, func(n int) string { return LoopInWords(&e.Parent, n) }),
		newPart("failure", "What went wrong", 3*l.Failure, func(n int) string { return e.failure(n, l.Failure) }),
	}
}

// importance orders parts from the one that shrinks first to the one that shrinks last.
var importance = []string{"good", "callees", "tried", "lessons", "assembly", "compiler", "corpus", "profile", "mate",
	"failure", "target", "source"}

// inBlock puts lines into a code block.
func inBlock(lines []string, limit int, what string) string {
	const overhead = 2*3 + len("text") + 3
	if len(lines) == 0 {
		return ""
	}
	longest := longestRun(strings.Join(lines, ""), '`')
	body := list(lines, limit-overhead-2*max(0, longest-2), what)
	if body == "" {
		return ""
	}
	return Block("text", body)
}

func (e *Evidence) target(limit int) string {
	t := e.Target
	if t == nil {
		return ""
	}
	head := fmt.Sprintf("%s in package %s (Go %s):\n%s", word(t.Name), word(t.PkgPath), word(t.Go),
		Block("go", cleanLine(t.Signature)))
	if len(head) > limit {
		return ""
	}
	var b strings.Builder
	if len(t.TypeArgs) > 0 {
		fmt.Fprintf(&b, "It is measured with %s; every type argument must keep working.\n",
			word(strings.Join(t.TypeArgs, ", ")))
	}
	var names []string
	for _, d := range t.Scope {
		names = append(names, d.Name)
	}
	if len(names) > 1 {
		fmt.Fprintf(&b, "Only it uses these, so they may change with it: %s.\n", word(strings.Join(names[1:], ", ")))
	}
	if t.Facts.CanPanic {
		b.WriteString("It can panic; where it does, it must go on doing so.\n")
	}
	return head + cut(b.String(), limit-len(head))
}

func (e *Evidence) callees(limit int) string {
	var b strings.Builder
	for _, c := range e.Callees {
		head := word(c.Name)
		if c.Share > 0 {
			head += ", " + percent(c.Share) + " of the time"
		}
		head += "\n"
		body := head
		if c.Source != "" {
			body = head + Block("go", Clean(c.Source))
		}
		if b.Len()+len(body) > limit {
			body = head // a piece of a function teaches nothing
		}
		if b.Len()+len(body) > limit {
			break
		}
		b.WriteString(body)
	}
	return b.String()
}

func (e *Evidence) corpus(limit int) string {
	words := FacetsInWords(e.Target, e.Facets, e.Redact)
	if words == "" {
		return ""
	}
	return codeBlockWithin("text", words, limit)
}

func (e *Evidence) tried(limit int) string {
	const overhead = 2*3 + len("text") + 3
	words := triedInWords(e.Tried, e.redactor(), limit-overhead)
	if words == "" {
		return ""
	}
	return codeBlockWithin("text", words, limit)
}

// partial is the mark for a source that was cut.
const partial = "The text is cut. Change it with edits of what is shown, not with whole declarations of what is not.\n"

func (e *Evidence) source(limit int) string {
	if e.Leaks(e.Parent.Source) {
		return ""
	}
	return sourceOf(&e.Parent, limit)
}

func (e *Evidence) mate(limit int) string {
	if e.Mate == nil || e.Leaks(e.Mate.Source) {
		return ""
	}
	return sourceOf(e.Mate, limit)
}

func (e *Evidence) good(limit int) string {
	showable := slices.DeleteFunc(slices.Clone(e.Good), func(v Version) bool { return e.Leaks(v.Source) })
	return goodInWords(showable, limit)
}

func sourceOf(v *Version, limit int) string {
	head := versionInWords(v) + "\n"
	whole := head + Block("go", v.Source)
	if len(whole) <= limit {
		return whole
	}
	room := limit - len(head) - len(partial)
	body := codeBlockWithin("go", v.Source, room)
	if body == "" {
		return ""
	}
	return head + body + partial
}

// failure describes the failed reply and what is wrong with it, each within one bytes and all
// within all.
func (e *Evidence) failure(all, one int) string {
	f := e.Failure
	if f == nil {
		return ""
	}
	var b strings.Builder
	say := func(title, text string) {
		if text == "" {
			return
		}
		if body := codeBlockWithin("text", text, min(one, all-b.Len()-len(title)-1)); body != "" {
			b.WriteString(title + "\n" + body)
		}
	}
	say("The edits do not fit the version above:", Clean(f.Unmatched))
	say("The compiler says:", Clean(f.Compiler))
	say("It breaks a rule of the game:", OneLine(e.redactor().sentence(f.Policy)))
	if f.Counterexample != nil {
		say("It does not do the same:", counterexampleInWords(f.Counterexample, e.redactor()))
	}
	say("The reply was:", Clean(f.Reply))
	return b.String()
}
