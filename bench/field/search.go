package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/command"
)

// A searcher runs the built command on functions of copied modules.
type searcher struct {
	beagle string // the command
	build  string // its hash, short: results of another build are not taken over
	dir    string // copies of modules
	budget []string
	limit  time.Duration // for one command
}

// hashFile names a build by its content.
func hashFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return beagle.HashOf("file", text)[:12], nil
}

// call runs beagle with a store of its own, so that it reuses no earlier result.
func (l *searcher) call(ctx context.Context, args ...string) (*command.End, error) {
	home, err := os.MkdirTemp("", "field-home-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	return command.Call{Program: l.beagle, Args: args, Home: home, Env: []string{"GOWORK=off"}, Limit: l.limit}.Run(ctx)
}

// Ends of a search.
const (
	improved = "improved"
	kept     = "kept"     // the original is the best version
	rejected = "rejected" // the function cannot be taken
	failed   = "failed"   // beagle itself failed, or took too long
)

// A search is the result of beagle's search of a function.
type search struct {
	End     string  `json:"end"`
	Why     string  `json:"why,omitempty"`    // the class of a rejection or failure, without names
	Detail  string  `json:"detail,omitempty"` // beagle's own sentence; only of the development half
	Gain    float64 `json:"gain,omitempty"`   // times as fast, corrected for all that was tried
	Low     float64 `json:"low,omitempty"`    // the low end of its interval
	Seconds float64 `json:"seconds"`          // processor time
	// candidates evaluated, and how many of them behaved
	Candidates int                 `json:"candidates,omitempty"`
	Statuses   map[string]int      `json:"statuses,omitempty"` // of the versions, how many ended so
	InPlace    bool                `json:"in_place,omitempty"` // judged in the package's own tests
	Rules      map[string]*ruleUse `json:"rules,omitempty"`

	result *beagle.Result
}

// A ruleUse counts the outcomes of a rule's proposals in a search.
type ruleUse struct {
	Proposed int `json:"proposed"`            // versions whose last step is the rule's
	Behaved  int `json:"behaved"`             // of these, equal to the original as far as checked
	Faster   int `json:"faster"`              // of these, faster in the quick measurement by 5 % at the low end
	Won      int `json:"in_winner,omitempty"` // 1 when the winner has a step of it
}

// evolve searches for a faster version of a function. Only rules write versions, unless flags name
// another author.
func (l *searcher) evolve(ctx context.Context, dir, spec, out string, flags ...string) (*search, error) {
	args := append([]string{"evolve", "--json", "--quiet", "--offline", "--anew", "--out", out, "-C", dir}, l.budget...)
	r, err := l.call(ctx, append(append(args, flags...), spec)...)
	if err != nil {
		return nil, err
	}
	s := &search{Seconds: r.Processor().Seconds(), Detail: sentence(r.Said)}
	switch {
	case r.Late:
		s.End, s.Why = failed, "it took longer than the limit"
	case r.Status == 2:
		s.End, s.Why = rejected, classOf(s.Detail)
	case r.Status != 0:
		s.End, s.Why = failed, fmt.Sprintf("beagle ended with status %d", r.Status)
		if what := classIn(failures, s.Detail); what != "" {
			s.Why += " (" + what + ")"
		}
	default:
		s.result = &beagle.Result{}
		if err := r.Decode(s.result); err != nil {
			return nil, fmt.Errorf("%s: %w", spec, err)
		}
		s.read()
	}
	return s, nil
}

// read takes the figures out of a result.
func (s *search) read() {
	r := s.result
	s.End, s.Detail, s.Candidates, s.Rules = kept, r.Why, r.Candidates, ruleUses(r)
	s.Statuses, s.InPlace = map[string]int{}, r.InPlace != nil
	for status, n := range r.Statuses {
		s.Statuses[string(status)] = n
	}
	if r.Outcome == beagle.Improved {
		s.End, s.Gain, s.Low = improved, r.Best.Ratio.Point, r.Best.Ratio.Low
		return
	}
	switch {
	case r.Candidates == 0:
		s.Why = "no rewrite makes a version"
	case r.Statuses[beagle.Equal]+r.Statuses[beagle.Accepted] == 0:
		s.Why = "no version behaves as the original"
	default:
		s.Why = "no version is confirmed to be faster"
	}
}

// ruleUses counts the outcomes of each rule's proposals.
func ruleUses(r *beagle.Result) map[string]*ruleUse {
	out := map[string]*ruleUse{}
	of := func(name string) *ruleUse {
		if out[name] == nil {
			out[name] = &ruleUse{}
		}
		return out[name]
	}
	for _, a := range r.Attempts {
		if len(a.Steps) == 0 {
			continue
		}
		u := of(a.Steps[len(a.Steps)-1].Mutator)
		u.Proposed++
		if a.Status == beagle.Equal || a.Status == beagle.Accepted {
			u.Behaved++
			if a.Screen != nil && a.Screen.Low >= atLeast {
				u.Faster++
			}
		}
	}
	if r.Outcome == beagle.Improved {
		for _, step := range r.Best.Steps {
			of(step.Mutator).Won = 1
		}
	}
	return out
}

// atLeast is the gain at which a function counts as improved.
const atLeast = 1.05

// sentence returns beagle's error message on one line, without its name.
func sentence(said string) string {
	for line := range strings.Lines(said) {
		if _, what, ok := strings.Cut(line, "beagle evolve: "); ok {
			return strings.TrimSpace(what)
		}
	}
	return complaint(said)
}

// A class is a kind of rejection or failure, recognised by beagle's message.
type class struct {
	name string
	form *regexp.Regexp
}

// classes are the kinds of rejection. The first that fits counts.
var classes = []class{
	{"a function among parameters or results", directFunction},
	{"a function inside of a parameter or result", regexp.MustCompile(`it is a function`)},
	{"a channel", regexp.MustCompile(`it is a channel`)},
	{
		"a value of the process (context, file, connection, reflect)",
		regexp.MustCompile(`means something only inside its process`),
	},
	{"an address", regexp.MustCompile(`it is an address`)},
	{"takes and returns nothing", regexp.MustCompile(`takes nothing and returns nothing`)},
	{"input or output", regexp.MustCompile(`no check compares its effects outside`)},
	{"no Go body", regexp.MustCompile(`has no Go body`)},
	{"generic without an instance", regexp.MustCompile(`no instantiation found`)},
	{"no inputs", regexp.MustCompile(`no test calls it`)},
	{"no calls in place, or none that the tests look at", regexp.MustCompile(`there is no evidence in place`)},
	{"no benchmark times it in place", regexp.MustCompile(`cannot be timed in place`)},
	{"the package is no target", regexp.MustCompile(`does not compile|not on this machine|uses cgo`)},
}

// failures are the kinds of failure of beagle itself. The first that fits counts.
var failures = []class{
	{"the original cannot be timed", regexp.MustCompile(`the original cannot be timed`)},
	{"a program ran out of memory", regexp.MustCompile(`memory`)},
	{"a program hung", regexp.MustCompile(`\bhang\b|did not end`)},
	{"a program died", regexp.MustCompile(`the harness ended|died`)},
	{"a program was not built", regexp.MustCompile(`does not (compile|build)|do not build|compiling|build failed`)},
	{"the go command failed", regexp.MustCompile(`go (list|build|test)\b`)},
	{"a panic", regexp.MustCompile(`panic`)},
}

var directFunction = regexp.MustCompile(`(parameter|result) [^.\[ ]+ cannot be .* it is a function`)

var audited = regexp.MustCompile(`cannot be judged \(([a-z-]+)\)`)

// classOf names the reason for which a function was rejected, without its names.
func classOf(sentence string) string {
	if m := audited.FindStringSubmatch(sentence); m != nil {
		return "inputs: " + m[1]
	}
	return cmp.Or(classIn(classes, sentence), "another reason")
}

// classIn returns the name of the first class that fits a sentence, "" for none.
func classIn(list []class, sentence string) string {
	for _, c := range list {
		if c.form.MatchString(sentence) {
			return c.name
		}
	}
	return ""
}
