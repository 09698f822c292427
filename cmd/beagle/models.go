package main

import (
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/mutate/llm"
)

// modelOptions are the flags about models that need a second look.
type modelOptions struct {
	models, agents    []string
	temperatures      []string
	priceIn, priceOut float64
	dollars           float64

	given func(func(*flag.Flag)) // visits the flags of the command line
	about map[string]bool        // the flags about models
}

// flags declares the flags about models and agents, and keeps their names for settle.
func (o *modelOptions) flags(f *flagSet, m *flow.Models) {
	// Note which flags are about models: those that this function adds.
	others := map[string]bool{}
	f.VisitAll(func(g *flag.Flag) { others[g.Name] = true })
	o.given = f.Visit
	defer func() {
		o.about = map[string]bool{}
		f.VisitAll(func(g *flag.Flag) { o.about[g.Name] = !others[g.Name] })
	}()
	// The authors of versions.
	f.Var(manyFlag{&o.models}, "model",
		"let this `model` write versions too: NAME, NAME@URL, NAME=WEIGHT; again for more. Keys come from "+
			"OPENAI_API_KEY, ANTHROPIC_API_KEY, BEAGLE_KEY_NAME, or --key-file")
	f.Var(manyFlag{&o.agents}, "agent",
		"let this coding agent write versions too, in a throw-away copy of the module: the `command` of one that "+
			"speaks the Agent Client Protocol")
	f.StringVar(&m.KeyFile, "key-file", "", "take the models' keys from this `file`")
	// Their costs.
	f.Var(listFlag{&o.temperatures}, "temperature",
		"ask models at these `temperatures`, separated by commas; the search learns which pays")
	f.Float64Var(&o.dollars, "budget-usd", 0, "spend no more than this on models (default 1 for models with a price)")
	f.Int64Var(&m.Caps.Tokens, "budget-tokens", 0, "use no more tokens than this, of prompts and replies")
	f.Int64Var(&m.Caps.Calls, "budget-calls", 0, "make no more calls of models than this")
	f.Float64Var(&o.priceIn, "price-in", 0,
		"`dollars` for a million tokens of prompts, for models whose price is not known")
	f.Float64Var(&o.priceOut, "price-out", 0, "`dollars` for a million tokens of replies")
	// Limits of each call.
	f.IntVar(&m.InFlight, "in-flight", 4, "calls of models under way at once")
	f.IntVar(&m.MaxTokens, "max-tokens", 8192, "the most `tokens` that a reply may have")
	f.DurationVar(&m.Limit, "call-limit", 0,
		"time for one call of a model, its retries included (default 3m; 10m when an agent takes part)")
	// Privacy.
	f.BoolVar(&m.Offline, "offline", false, "nothing leaves this machine: models at other addresses are refused")
	f.StringVar(&m.Redact, "redact", "auto",
		"yes: models get shapes instead of captured values; no; auto: yes for inputs from a file")
	// Recordings, lessons, and the part of the rules.
	f.StringVar(&m.Record, "record", "", "record the models' replies and the search's decisions in this `directory`")
	f.StringVar(&m.Replay, "replay", "",
		"take replies and decisions from this `directory` of --record; no model is asked")
	f.Var(manyFlag{&m.Lessons}, "lessons", "teach models the lessons of this `directory` too")
	f.BoolVar(&m.NoRules, "no-rules", false, "models alone: no rewrite proposes anything")
}

// needless refuses flags about models if there is no model: a user who gives --redact expects
// values to be sent. --offline holds without a model too.
func (o *modelOptions) needless() error {
	if len(o.models)+len(o.agents) > 0 {
		return nil
	}
	// Gather all such flags: the error names them together.
	var names []string
	o.given(func(g *flag.Flag) {
		if o.about[g.Name] && g.Name != "offline" {
			names = append(names, "--"+g.Name)
		}
	})
	if len(names) == 0 {
		return nil
	}
	needs := " needs "
	if len(names) > 1 {
		needs = " need "
	}
	what := strings.Join(names, " and ") + needs + "--model or --agent"
	return &beagle.UsageError{
		What:   what,
		Remedy: "name one: --model NAME, --model NAME@http://127.0.0.1:8080/v1 or --agent COMMAND; or leave it out",
	}
}

// checkAgents refuses agents whose command is missing, before any long work. It does not look into
// a shell's arguments.
func (o *modelOptions) checkAgents(m *flow.Models) error {
	if m.Replay != "" {
		return nil // no model is asked
	}
	for _, command := range o.agents {
		words := strings.Fields(command)
		if len(words) == 0 || strings.ContainsAny(words[0], "=$~'\"`\\(){};&|<>*?[") {
			continue
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return &beagle.UsageError{
				What:   fmt.Sprintf("--agent %q: there is no command %s", command, words[0]),
				Remedy: "install it, or give its path",
			}
		}
	}
	return nil
}

// settle reads the models and their budget.
func (o *modelOptions) settle(m *flow.Models) error {
	if err := o.needless(); err != nil {
		return err
	}
	var err error
	if m.Ask, err = llm.ParseModels(o.models); err != nil {
		return err
	}
	for _, command := range o.agents {
		one, err := flow.AgentModel(command)
		if err != nil {
			return err
		}
		m.Ask = append(m.Ask, one)
	}
	if len(o.temperatures) > 0 {
		m.Temperatures = nil // those that a campaign began with
	}
	for _, t := range o.temperatures {
		v, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return &beagle.UsageError{
				What:   fmt.Sprintf("--temperature %q is not a number", t),
				Remedy: "give numbers from 0 to 2: --temperature=0.3,1",
			}
		}
		m.Temperatures = append(m.Temperatures, v)
	}
	if o.priceIn != 0 || o.priceOut != 0 {
		if o.priceIn < 0 || o.priceOut < 0 {
			return &beagle.UsageError{What: "a price is negative", Remedy: "give dollars for a million tokens"}
		}
		for i := range o.models {
			m.Ask[i].Price = llm.Price{In: o.priceIn, Out: o.priceOut, AsOf: "given"}
		}
	}
	m.Caps.Money = llm.MicrosOf(o.dollars)
	if len(m.Ask) > 0 && m.Replay == "" { // a recording was made with lessons of its own
		if m.Lessons, err = ownLessons(m.Lessons); err != nil {
			return err
		}
	}
	for _, dir := range []*string{&m.KeyFile, &m.Record, &m.Replay} { // a run may be resumed from elsewhere
		if *dir != "" {
			if *dir, err = filepath.Abs(*dir); err != nil {
				return err
			}
		}
	}
	if len(m.Ask) == 0 {
		keep := *m // the other flags say nothing without a model
		*m = flow.Models{Caps: keep.Caps, Record: keep.Record, Replay: keep.Replay, NoRules: keep.NoRules}
	}
	return nil
}

// manyFlag may be given several times.
type manyFlag struct{ list *[]string }

func (l manyFlag) String() string {
	if l.list == nil {
		return ""
	}
	return strings.Join(*l.list, " ")
}

func (l manyFlag) Set(s string) error {
	*l.list = append(*l.list, s)
	return nil
}

// spending sums up the models' use so far: "$0.12 of $1.00, 14 calls, 3 in flight".
func spending(m *flow.ModelsEvent) string {
	parts := []string{m.Spent.Money.String()}
	if m.Caps.Money > 0 {
		parts[0] += " of " + m.Caps.Money.String()
	}
	if m.Caps.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", m.Spent.Tokens, m.Caps.Tokens))
	}
	calls := fmt.Sprintf("%d calls", m.Spent.Calls)
	if m.Caps.Calls > 0 {
		calls = fmt.Sprintf("%d of %d calls", m.Spent.Calls, m.Caps.Calls)
	}
	return strings.Join(append(parts, calls, fmt.Sprintf("%d in flight", m.InFlight)), ", ")
}

// printModels says at the end of a run what models did for their money.
func printModels(w io.Writer, m *beagle.ModelSummary) {
	if m == nil {
		return
	}
	paid := "for " + llm.MicrosOf(m.Dollars).String()
	if m.Replayed {
		paid = "replayed, nothing paid"
	}
	fmt.Fprintf(w, "  %-22s %d answers, %d tokens, %s\n", "models", m.Calls, m.Tokens, paid)
	// Lost calls may cost money that no answer accounts for.
	if m.Lost > 0 {
		fmt.Fprintf(w,
			"  %-22s %d calls were under way when a process of the run ended; up to %v may be paid for them besides\n",
			"", m.Lost, llm.MicrosOf(m.AtMost))
	}
	for _, a := range m.Authors {
		fmt.Fprintf(w, "  %-22s %d versions, %d behave, earned %.3f\n", "  "+a.Author, a.Candidates,
			a.Behaving, a.Earned)
	}
}
