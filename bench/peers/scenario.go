package main

import (
	"fmt"
	"time"

	"github.com/beagle-go/beagle/internal/llmtest"
)

// A scenario is one test that all programs run.
type scenario struct {
	name      string
	n         int           // candidates to make
	slots     int           // evaluations at once
	model     time.Duration // that a reply takes
	eval      time.Duration // that an evaluation takes
	reply     func(number int) kind
	kill      bool          // kill the program after half of the calls, and resume it
	patch     string        // "full" or "diff"
	limit     time.Duration // of an evaluation
	timeLimit time.Duration // the whole run
}

// A kind is the kind of a reply.
type kind struct {
	id   int // makes the candidate differ from all others
	hang bool
	miss bool // a search that matches nothing
}

func fresh(number int) kind { return kind{id: number} }

// scenarios returns all questions, with about n candidates each.
func scenarios(n int) []scenario {
	base := scenario{n: n, slots: 2, reply: fresh, patch: "full", limit: 10 * time.Second, timeLimit: 10 * time.Minute}
	with := func(name string, f func(*scenario)) scenario {
		s := base
		s.name = name
		f(&s)
		return s
	}
	return []scenario{
		with("overhead", func(*scenario) {}),
		with("pipeline", func(s *scenario) { s.n, s.model, s.eval = max(n/2, 20), time.Second, time.Second }),
		with("kill", func(s *scenario) { s.kill, s.model, s.eval = true, 50*time.Millisecond, 50*time.Millisecond }),
		with("hang", func(s *scenario) {
			s.limit = 3 * time.Second
			s.reply = func(number int) kind { return kind{id: number, hang: number%8 == 4} }
		}),
		with("same", func(s *scenario) { s.reply = func(int) kind { return kind{id: 1} } }),
		with("miss", func(s *scenario) {
			s.n, s.patch = min(n, 20), "diff"
			s.reply = func(number int) kind { return kind{id: number, miss: true} }
		}),
	}
}

// A language writes replies for the programs that evolve it.
type language string

const (
	python language = "python"
	golang language = "go"
)

func (l language) text(k kind) string {
	if k.miss {
		return fmt.Sprintf("<NAME>\nmiss\n</NAME>\n<DESCRIPTION>\nnothing\n</DESCRIPTION>\n<DIFF>\n<<<<<<< SEARCH\n"+
			"nothing like this %d\n=======\nsomething\n>>>>>>> REPLACE\n</DIFF>\n", k.id)
	}
	code := pythonCode(k)
	if l == golang {
		code = goCode(k)
	}
	return fmt.Sprintf("<NAME>\nreply\n</NAME>\n<DESCRIPTION>\nreply\n</DESCRIPTION>\n<CODE>\n```%s\n%s```\n</CODE>\n",
		l, code)
}

func pythonCode(k kind) string {
	extra := ""
	if k.hang {
		extra = "# hang\n"
	}
	return fmt.Sprintf("# EVOLVE-BLOCK-START\nreply = %d\n%s\n\ndef count(text):\n    return len(text.split())\n\n\n"+
		"# EVOLVE-BLOCK-END\n", k.id, extra)
}

// goCode behaves as the original and has machine code of its own: for very long texts, which never
// come, it takes another path at a length of its own.
func goCode(k kind) string {
	hang := ""
	if k.hang {
		hang = fmt.Sprintf("\tfor len(text) > %d {\n\t}\n", 3+k.id%90)
	}
	body := "\tn, in := 0, false\n\tfor i := %d; i < len(text); i++ {\n\t\tspace := text[i] == ' '\n" +
		"\t\tif !space && !in {\n\t\t\tn++\n\t\t}\n\t\tin = !space\n\t}\n\treturn n\n"
	return fmt.Sprintf("func Count(text string) int {\n%s\tif len(text) > %d {\n\t\treturn countLong(text)\n\t}\n"+body+
		"}\n\nfunc countLong(text string) int {\n"+body+"}\n",
		hang, 1_000_000+k.id, 0, 0)
}

// serve starts the model server of a scenario.
func (s scenario) serve(l language) (*llmtest.Server, error) {
	server := &llmtest.Server{Models: []string{"tester"}, Script: func(c llmtest.Call) *llmtest.Reply {
		return &llmtest.Reply{Text: l.text(s.reply(c.Number)), After: llmtest.Duration(s.model)}
	}}
	return server, server.Start("127.0.0.1:0")
}
