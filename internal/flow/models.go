package flow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/mutate/llm"
)

// Models says which models write candidates beside the rules, and what they may use. It is part of
// the spec and so of the store: it never holds a key.
type Models struct {
	Ask []llm.Model `json:"ask,omitempty"`
	// each model is asked at each of these; an empty list leaves the choice to the model
	Temperatures []float64     `json:"temperatures,omitempty"`
	Caps         llm.Caps      `json:"caps,omitzero"`
	InFlight     int           `json:"in_flight,omitempty"`  // calls under way at once
	MaxTokens    int           `json:"max_tokens,omitempty"` // the most that a reply may have
	Limit        time.Duration `json:"limit,omitempty"`      // for one call, its retries included
	KeyFile      string        `json:"key_file,omitempty"`   // where the keys are; none is the environment
	Offline      bool          `json:"offline,omitempty"`    // nothing may leave this machine
	Redact       string        `json:"redact,omitempty"`     // "auto", "yes" or "no": captured values as shapes
	Record       string        `json:"record,omitempty"`     // directory that replies are recorded into
	// directory with recorded replies, which replace the models
	Replay  string   `json:"replay,omitempty"`
	Lessons []string `json:"lessons,omitempty"` // directories of the user's own lessons
	NoRules bool     `json:"no_rules,omitempty"`
}

// Defaults of [Models]. A run that costs money has a limit even if the user gave none.
const (
	defaultInFlight  = 4
	defaultMaxTokens = 8192
	DefaultCallLimit = 3 * time.Minute
	defaultMoney     = llm.Micros(1_000_000)
	maxInFlight      = 64
)

// On reports whether any model is asked.
func (m *Models) On() bool { return len(m.Ask) > 0 }

// settle fills in defaults.
func (m *Models) settle() {
	if !m.On() {
		return
	}
	if m.InFlight == 0 {
		m.InFlight = defaultInFlight
	}
	if m.MaxTokens == 0 {
		m.MaxTokens = defaultMaxTokens
	}
	agents := slices.ContainsFunc(m.Ask, isAgent)
	if m.Limit == 0 {
		m.Limit = DefaultCallLimit
		if agents {
			m.Limit = agentLimit
		}
	}
	if m.Redact == "" {
		m.Redact = "auto"
	}
	if m.Caps.Money == 0 && m.Replay == "" && (agents || slices.ContainsFunc(m.Ask, costly)) {
		m.Caps.Money = defaultMoney
	}
}

func costly(m llm.Model) bool { return m.Price.In > 0 || m.Price.Out > 0 }

// check returns a usage error if the user's models cannot be asked.
func (m *Models) check() error {
	const named = "name a model: --model NAME or --model NAME@http://127.0.0.1:8080/v1"
	// Without a model, flags about models are mistakes.
	if !m.On() {
		switch {
		case m.NoRules:
			return usage("--no-rules needs a model or an agent", named)
		case m.Record != "" || m.Replay != "":
			return usage("--record and --replay need a model or an agent", named)
		case m.Caps != llm.Caps{}:
			return usage("a budget for models is given, but no model", named)
		}
		return nil
	}
	// Check the flags, then the agents, the keys and each model.
	switch {
	case m.Record != "" && m.Replay != "":
		return usage("--record and --replay exclude each other", "a replay is recorded already")
	case m.InFlight < 1 || m.InFlight > maxInFlight:
		return usage(fmt.Sprintf("--in-flight %d is out of range", m.InFlight),
			fmt.Sprintf("give 1 to %d; %d is the default", maxInFlight, defaultInFlight))
	case !slices.Contains([]string{"auto", "yes", "no"}, m.Redact):
		return usage(fmt.Sprintf("--redact %q is not known", m.Redact),
			"give yes, no, or auto, which means yes for inputs from a file: they may come from production")
	case m.Limit < time.Second:
		return usage(fmt.Sprintf("--call-limit %v is too short for a call", m.Limit),
			"give at least 1s; 3m is the default")
	case m.Caps.Money < 0 || m.Caps.Tokens < 0 || m.Caps.Calls < 0:
		return usage("--budget-usd, --budget-tokens or --budget-calls is negative",
			"give a number above 0, or leave it out")
	}
	if i := slices.IndexFunc(m.Temperatures, func(t float64) bool { return t < 0 || t > 2 }); i >= 0 {
		return usage(fmt.Sprintf("--temperature %g is out of range", m.Temperatures[i]), "give a number from 0 to 2")
	}
	if err := m.checkAgents(); err != nil {
		return err
	}
	if m.KeyFile != "" && m.Replay == "" {
		if _, err := llm.FileKeys(m.KeyFile, m.servers()...); err != nil {
			return err // before anything that takes time
		}
	}
	return m.checkEach()
}

// checkEach checks each model alone: its address, its price and its name.
func (m *Models) checkEach() error {
	for _, one := range m.Ask {
		switch {
		case m.Replay != "":
		case m.Offline && !one.Local():
			return usage(fmt.Sprintf("--offline: the model %s is at %s, not on this machine", one.Name, one.URL),
				"leave out --offline, or name a model of a local server: --model "+one.Name+"@http://127.0.0.1:8080/v1")
		case m.Caps.Money > 0 && !one.Price.Known():
			return usage(fmt.Sprintf("the price of the model %s is not known, so that no budget in dollars can be kept",
				one.Name),
				"give --price-in and --price-out (dollars for a million tokens), or a budget in --budget-tokens or "+
					"--budget-calls instead of --budget-usd")
		case m.Caps == llm.Caps{} && !one.Price.Known():
			return usage(fmt.Sprintf("the price of the model %s is not known, and no budget is given", one.Name),
				"give --price-in and --price-out (dollars for a million tokens), or a budget: --budget-tokens or "+
					"--budget-calls")
		}
	}
	return nil
}

// Authors returns the models as the search knows them: one for each temperature.
func (m *Models) Authors() []evolve.Author {
	var out []evolve.Author
	for _, one := range m.Ask {
		if len(m.Temperatures) < 2 {
			a := evolve.Author{Name: one.Name, Model: one.Name, Weight: one.Weight, Alone: isAgent(one)}
			if len(m.Temperatures) == 1 {
				a.Temperature = m.Temperatures[0]
			}
			out = append(out, a)
			continue
		}
		for _, t := range m.Temperatures {
			out = append(out, evolve.Author{
				Name:        fmt.Sprintf("%s at %g", one.Name, t),
				Model:       one.Name,
				Temperature: t,
				Alone:       isAgent(one),
				Weight:      one.Weight / float64(len(m.Temperatures)),
			})
		}
	}
	return out
}

// model returns the model of that name, or the zero Model.
func (m *Models) model(name string) llm.Model {
	i := slices.IndexFunc(m.Ask, func(one llm.Model) bool { return one.Name == name })
	if i < 0 {
		return llm.Model{}
	}
	return m.Ask[i]
}

// flags lists the flags that name the models again.
func (m *Models) flags(add func(differs bool, flag string, value any)) {
	for _, one := range m.Ask {
		if isAgent(one) {
			add(true, "agent", quote(one.URL))
		} else {
			add(true, "model", quote(modelFlag(one)))
		}
	}
	if !m.On() {
		return
	}
	// Name what calls may cost, and then how they are made.
	priced := m.Ask[0].Price
	add(priced.AsOf == "given", "price-in", priced.In)
	add(priced.AsOf == "given", "price-out", priced.Out)
	add(len(m.Temperatures) > 0, "temperature", list(m.Temperatures))
	add(m.Caps.Money > 0, "budget-usd", m.Caps.Money.Dollars())
	add(m.Caps.Tokens > 0, "budget-tokens", m.Caps.Tokens)
	add(m.Caps.Calls > 0, "budget-calls", m.Caps.Calls)
	add(m.InFlight != defaultInFlight, "in-flight", m.InFlight)
	add(m.MaxTokens != defaultMaxTokens, "max-tokens", m.MaxTokens)
	add(m.Limit != DefaultCallLimit, "call-limit", m.Limit)
	add(m.KeyFile != "", "key-file", quote(m.KeyFile))
	add(m.Offline, "offline", true)
	add(m.Redact != "auto", "redact", m.Redact)
	add(m.Record != "", "record", quote(m.Record))
	add(m.Replay != "", "replay", quote(m.Replay))
	add(m.NoRules, "no-rules", true)
	for _, dir := range m.Lessons {
		add(true, "lessons", quote(dir))
	}
}

// modelFlag returns the value of --model that names a model.
func modelFlag(m llm.Model) string {
	out := m.Provider + ":" + m.Name
	if !m.AtHome() {
		out += "@" + m.URL
	}
	if m.Weight != 1 {
		out += fmt.Sprintf("=%g", m.Weight)
	}
	return out
}

func list(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ",")
}

// DescribeModels names, in a line, the models and the values that leave the machine.
func (s *Spec) DescribeModels() string {
	m := &s.Models
	names := make([]string, len(m.Ask))
	for i, one := range m.Ask {
		names[i] = one.Name
		if one.Local() {
			names[i] += " (on this machine)"
		}
	}
	line := strings.Join(names, ", ")
	if m.Replay != "" {
		line += ", replayed from " + m.Replay + ": no model is asked"
	}
	if m.Caps.Money > 0 {
		line += ", at most " + m.Caps.Money.String() + m.pricesInWords()
	}
	if m.Offline {
		line += ", offline"
	}
	if s.Redacted() {
		return line + "; captured values are sent as shapes only"
	}
	return line + "; prompts quote captured values (--redact=yes sends shapes only)"
}

// pricesInWords names the source of the prices behind a budget.
func (m *Models) pricesInWords() string {
	var from []string
	for _, one := range m.Ask {
		says := ""
		switch as := one.Price.AsOf; {
		case isAgent(one), !costly(one):
		case as == "given":
			says = "prices as given"
		default:
			says = "prices of " + as
		}
		if says != "" && !slices.Contains(from, says) {
			from = append(from, says)
		}
	}
	if len(from) == 0 {
		return ""
	}
	return " (" + strings.Join(from, ", ") + ")"
}

// Redacted reports whether models get shapes instead of captured values. Values in a file may
// come from production; those of the package's own tests are in the source anyway.
func (s *Spec) Redacted() bool {
	return s.Models.Redact == "yes" || s.Models.Redact != "no" && s.CorpusFile != ""
}
