package llm

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// A Prompt is the input of a model. Compose makes the same prompt from the same briefing, limits
// and seed.
//
// System is the same for every prompt of every run: the model's role, the rules of the game, and
// the form of the reply. User begins with the parts that stay the same for a target, so that
// providers with prefix caches charge less.
type Prompt struct {
	System  string   `json:"system"`
	User    string   `json:"user"`
	Cut     []string `json:"cut,omitempty"`     // parts that did not fit whole: "tried: 3120 of 9802 bytes"
	Lessons []string `json:"lessons,omitempty"` // names of the lessons in it
}

// Limits bound the parts of a prompt, in bytes. Compose cuts at a line's end, with a mark that says
// how much is missing.
type Limits struct {
	Total    int `json:"total"`    // of System and User together; the least important parts shrink first
	Source   int `json:"source"`   // of each parent's source
	Callees  int `json:"callees"`  // of all sources of called functions
	Corpus   int `json:"corpus"`   // of the facets in words
	Calls    int `json:"calls"`    // of the sample calls and the distributions
	Profile  int `json:"profile"`  // of the hot lines
	Compiler int `json:"compiler"` // of the compiler's account
	Assembly int `json:"assembly"` // of the hot loop; Compose only counts a larger loop
	Tried    int `json:"tried"`    // of all attempts
	Good     int `json:"good"`     // of all other good versions
	Failure  int `json:"failure"`  // of a repair's failed reply, and of each complaint
	Lessons  int `json:"lessons"`  // of all lessons
}

// DefaultLimits make prompts of at most 48 KiB, some 14,000 tokens.
func DefaultLimits() Limits {
	return Limits{
		Total: 48 << 10, Source: 14 << 10, Callees: 5 << 10, Corpus: 3 << 10, Calls: 1536, Profile: 1536,
		Compiler: 3 << 10,
		Assembly: 5 << 10, Tried: 5 << 10, Good: 8 << 10, Failure: 6 << 10, Lessons: 8 << 10,
	}
}

//go:embed prompt_system.md
var systemText string

// Rules returns the part of the system prompt on rejections and scores, for readers and agents.
func Rules() string {
	_, rest, _ := strings.Cut(systemText, "# What is rejected\n")
	rules, _, _ := strings.Cut(rest, "\n# ")
	return strings.TrimSpace(rules) + "\n"
}

// Compose makes the prompt from a briefing. The seed chooses among ways to look at the problem,
// so that equal briefings can bring different ideas.
//
// Compose never cuts System. If Total leaves no room beside it, User holds the request alone.
func Compose(e *Briefing, l Limits, seed uint64) Prompt {
	request := e.request(seed)
	taught := Match(e.Lessons, e.facts(), l.Lessons)
	parts := e.parts(l, taught)
	fit(parts, l.Total-len(systemText)-len(request))
	p := Prompt{System: systemText}
	var b strings.Builder
	for _, part := range parts {
		text := part.text()
		b.WriteString(text)
		if got, whole := len(part.body()), len(part.wholeText()); got < whole {
			p.Cut = append(p.Cut, fmt.Sprintf("%s: %d of %d bytes", part.name, got, whole))
		}
		if part.name == "lessons" {
			p.Lessons = lessonsIn(taught, text)
		}
	}
	b.WriteString(request)
	p.User = b.String()
	return p
}

// fit lowers the limits of parts until they take no more than room together. It begins with the
// least important part.
func fit(parts []*part, room int) {
	total := func() int {
		n := 0
		for _, p := range parts {
			n += len(p.text())
		}
		return n
	}
	for _, name := range importance {
		excess := total() - room
		if excess <= 0 {
			return
		}
		p := parts[slices.IndexFunc(parts, func(p *part) bool { return p.name == name })]
		p.limit = max(0, len(p.body())-excess)
	}
}

// request returns the prompt's task for the model.
func (e *Briefing) request(seed uint64) string {
	const title = "# The request\n\n"
	name := "the function"
	if e.Target != nil {
		name = word(e.Target.Name)
	}
	switch e.Kind {
	// A conversation holds the failed reply already; a new prompt has a part that shows it.
	case Repair:
		if e.Continues {
			return title +
				"Make the same change again, without the mistake. If the idea itself cannot be right, make " +
				"the nearest change that is. Answer in the form that was given.\n"
		}
		return title +
			fmt.Sprintf("Your last reply is under \"What went wrong\". Make the same change to the version to change "+
				"of %s again, without the mistake. If the idea itself cannot be right, make the nearest change that "+
				"is. Answer in the form that was given.\n", name)
	case Crossover:
		return title +
			fmt.Sprintf("Combine the version to change and the other parent of %s into one that has the gains of "+
				"both. Keep what makes each fast, drop what only one of them needs, and change the version to "+
				"change. Answer in the form that was given.\n", name)
	}
	// A conversation goes on: it mends a version that behaves differently, or takes a right one
	// further.
	if e.Kind == Follow {
		if e.Last != nil && e.Last.Status != beagle.Equal && e.Last.Status != beagle.Accepted {
			return title +
				"Your last version is not right. Mend it, keeping its idea where that can be right. Change " +
				"the version to change, which is as before. Answer in the form that was given.\n"
		}
		return title + "The version to change is now your last one. Take it further: " + e.wantedIdea(seed) +
			" Answer in the form that was given.\n"
	}
	// Improve asks for something new, with an idea that depends on the seed.
	return title +
		fmt.Sprintf("Change the version to change of %s so that it becomes faster on what it receives. Do not propose "+
			"an idea again that stands under \"What was tried\". %s Answer in the form that was given.\n", name,
			e.wantedIdea(seed))
}
