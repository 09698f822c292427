package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
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

// textWithin returns the part's body within a limit, and renders it once.
func (p *part) textWithin(limit int) string {
	text, ok := p.made[limit]
	if !ok {
		text = p.render(limit)
		p.made[limit] = text
	}
	return text
}

// body returns the part's body within the part's own limit.
func (p *part) body() string {
	if whole := p.wholeText(); len(whole) <= p.limit {
		return whole
	}
	return p.textWithin(p.limit)
}

// text returns the part with its title, within its limit.
func (p *part) text() string {
	body := p.body()
	if body == "" {
		return ""
	}
	return "# " + p.title + "\n\n" + strings.TrimRight(body, "\n") + "\n\n"
}

// wholeText returns the part's body without a limit.
func (p *part) wholeText() string { return p.textWithin(1 << 30) }

// parts returns the sections of the question in reading order. Sections that stay the same for a
// target come first; a later turn of a conversation leaves them out.
func (e *Briefing) parts(l Limits, taught []Lesson) []*part {
	all := e.allParts(l, taught)
	if !e.Continues {
		return all
	}
	said := []string{"target", "callees", "corpus", "calls", "lessons"}
	if e.Kind == Repair {
		said = append(said, "tried", "good", "source", "mate", "profile", "compiler", "assembly")
	}
	for _, p := range all {
		if slices.Contains(said, p.name) {
			p.render = func(int) string { return "" }
		}
	}
	return all
}

func (e *Briefing) allParts(l Limits, taught []Lesson) []*part {
	return []*part{
		newPart("target", e.targetTitle(), 2<<10, e.target),
		newPart("callees", "What it calls", l.Callees, e.callees),
		newPart("corpus", "What it receives", l.Corpus, e.corpus),
		newPart("calls", "Some calls, and what they give", l.Calls, e.calls),
		newPart("lessons", "What is known to help", l.Lessons, func(n int) string { return lessonsInWords(taught, n) }),
		newPart("tried", "What was tried", l.Tried, e.triedText),
		newPart("good", "Other good versions", l.Good, e.describeGood),
		newPart("last", "What became of your last version", l.Failure, e.describeLast),
		newPart("source", "The version to change", l.Source, e.source),
		newPart("mate", "The other parent", l.Source, e.mate),
		newPart("profile", "Where its time goes", l.Profile, e.profile),
		newPart("compiler", "What the compiler says of it", l.Compiler, func(n int) string {
			return inBlock(noteLines(&e.Parent), n, "notes")
		}),
		newPart("assembly", "Its hot loop", l.Assembly, func(n int) string { return LoopInWords(&e.Parent, n) }),
		newPart("failure", "What went wrong", 3*l.Failure, func(n int) string { return e.failure(n, l.Failure) }),
	}
}

// importance orders parts from the one that shrinks first to the one that shrinks last.
var importance = []string{"good", "callees", "calls", "tried", "lessons", "assembly", "compiler", "corpus",
	"profile", "mate",
	"failure", "last", "target", "source"}

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

func (e *Briefing) targetTitle() string {
	if e.Target != nil && len(e.Target.Group) > 0 {
		return "The functions"
	}
	return "The function"
}

// groupRules say what may change of a group beyond what the system text says of one function.
const groupRules = "They are one target and may change together, and with them the unexported fields of its types: " +
	"another layout of the data may be what pays. Keep every name, signature, exported method and exported field of " +
	"the list, and what each function does. A version may keep in unexported fields what later calls need, but a " +
	"function that only reads its receiver may not write to it. The package's own tests compare whole runs, and its " +
	"benchmarks are timed.\n"

// GroupRules returns the rules for versions of a group, for readers and agents; "" for a single
// function.
func GroupRules(t *beagle.Target) string {
	if len(t.Group) == 0 {
		return ""
	}
	return groupRules
}

// target describes the function to make faster; "" if its signature alone exceeds the limit.
func (e *Briefing) target(limit int) string {
	t := e.Target
	if t == nil {
		return ""
	}
	lines := strings.Split(t.Signature, "\n")
	for i, line := range lines {
		lines[i] = cleanLine(line)
	}
	head := fmt.Sprintf("%s in package %s (Go %s):\n%s", word(t.Name), word(t.PkgPath), word(t.Go),
		Block("go", strings.Join(lines, "\n")))
	head += GroupRules(t)
	if len(head) > limit {
		return ""
	}
	var b strings.Builder
	if len(t.TypeArgs) > 0 {
		fmt.Fprintf(&b, "It is measured with %s; every type argument must keep working.\n",
			word(strings.Join(t.TypeArgs, ", ")))
	}
	if names := e.helpers(); len(names) > 0 {
		fmt.Fprintf(&b, "Only it uses these, so they may change with it: %s.\n", word(strings.Join(names, ", ")))
	}
	b.WriteString(e.panics())
	return head + cut(b.String(), limit-len(head))
}

// helpers returns the declarations beside the function that the version to change has.
func (e *Briefing) helpers() (names []string) {
	f, _, err := parseGo(e.Parent.Source)
	if err != nil {
		return nil
	}
	for _, d := range f.Decls {
		for _, name := range Declared(d) {
			if name != e.Target.Name && name != "_" && !slices.Contains(e.Target.Group, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// panics describes whether the function panics. A look at its code is a guess on the safe side:
// recorded calls come first.
func (e *Briefing) panics() string {
	f := e.Facets
	switch {
	case f != nil && f.Panics > 0:
		return fmt.Sprintf("%s of the recorded calls panic, and must go on doing so.\n", percent(f.Panics))
	case !e.Target.Facts.CanPanic:
		return ""
	case f != nil && f.Records > 0:
		return "No recorded call panics. Should an input make it panic, it must go on doing so.\n"
	}
	return "Where it panics, it must go on doing so.\n"
}

func (e *Briefing) callees(limit int) string {
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

func (e *Briefing) corpus(limit int) string {
	words := FacetsInWords(e.Target, e.Facets, e.Redact)
	if words == "" {
		return ""
	}
	return codeBlockWithin("text", words, limit)
}

func (e *Briefing) triedText(limit int) string {
	const overhead = 2*3 + len("text") + 3
	words := e.triedInWords(limit - overhead)
	if words == "" {
		return ""
	}
	return codeBlockWithin("text", words, limit)
}

// partial is the mark for a source that was cut.
const partial = "The text is cut. Change it with edits of what is shown, not with whole declarations of what is not.\n"

func (e *Briefing) source(limit int) string {
	if e.Leaks(e.Parent.Source) {
		return ""
	}
	return sourceOf(&e.Parent, limit)
}

// mate shows the other parent, as changes of the version to change where that is much shorter.
func (e *Briefing) mate(limit int) string {
	if e.Mate == nil || e.Leaks(e.Mate.Source) {
		return ""
	}
	if text := versionBeside(e.Mate, e.Parent.Source); len(text) <= limit {
		return text
	}
	return sourceOf(e.Mate, limit)
}

func (e *Briefing) describeGood(limit int) string {
	showable := slices.DeleteFunc(slices.Clone(e.Good), func(v Version) bool { return e.Leaks(v.Source) })
	return goodInWords(showable, e.Parent.Source, limit)
}

// profile shows the measured profile of the version to change, and what a call of it costs.
func (e *Briefing) profile(limit int) string {
	head := ""
	if c := e.Parent.Cost; c != nil {
		head = "A call takes " + costInWords(c) + ".\n"
	}
	if len(head) > limit {
		return ""
	}
	return head + inBlock(hotLines(&e.Parent), limit-len(head), "lines")
}

// describeLast describes what became of the reply before, in a conversation.
func (e *Briefing) describeLast(limit int) string {
	if e.Last == nil {
		return ""
	}
	return codeBlockWithin("text", attemptInWords(*e.Last, e.redactor()), limit)
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
func (e *Briefing) failure(all, one int) string {
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
	if !e.Continues {
		say("The reply was:", Clean(f.Reply))
	}
	return b.String()
}
