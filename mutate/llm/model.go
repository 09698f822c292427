package llm

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
)

// These are the protocols that the client speaks.
const (
	OpenAI    = "openai"    // chat completions: OpenAI and the many servers that speak the same
	Anthropic = "anthropic" // messages
)

// homes holds the addresses of the two providers, and the variables that hold their keys.
var homes = map[string]struct{ url, env string }{
	OpenAI:    {"https://api.openai.com/v1", "OPENAI_API_KEY"},
	Anthropic: {"https://api.anthropic.com", "ANTHROPIC_API_KEY"},
}

// A Model is a model to ask, and its place.
type Model struct {
	Name        string  `json:"name"`                  // the name on its server
	Provider    string  `json:"provider"`              // [OpenAI] or [Anthropic]: the protocol
	URL         string  `json:"url"`                   // base address, without the last slash
	KeyEnv      string  `json:"key_env"`               // the variable that holds its key
	Weight      float64 `json:"weight"`                // how often to ask it, relative to the others; above 0
	Temperature float64 `json:"temperature,omitempty"` // for requests without one; 0 leaves it to the server
	Price       Price   `json:"price"`                 // zero if it is unknown and nobody gave one
}

// ParseModel reads `[provider:]name[@url][=weight]`. Examples are "claude-opus-4-5", "gpt-5=2",
// "qwen3-coder@http://127.0.0.1:8080/v1" and "anthropic:sonnet@https://…". Without a provider,
// names that begin with "claude" mean Anthropic, and all others mean OpenAI's protocol. The price
// comes from [PriceOf]; a server on this machine costs nothing.
func ParseModel(spec string) (Model, error) {
	m := Model{Weight: 1}
	rest, err := m.takeWeight(strings.TrimSpace(spec))
	if err != nil {
		return Model{}, err
	}
	// Take the protocol off the front and the address off the end.
	for _, p := range []string{OpenAI, Anthropic} {
		if after, ok := strings.CutPrefix(rest, p+":"); ok {
			m.Provider, rest = p, after
		}
	}
	m.Name, m.URL, _ = strings.Cut(rest, "@")
	if m.Name == "" || strings.ContainsFunc(m.Name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Model{},
			usage(fmt.Sprintf("--model %s: the name of the model is missing or holds spaces", spec),
				"Write name, name@url or name@url=weight.")
	}
	// Without a protocol, the name decides.
	if m.Provider == "" {
		m.Provider = OpenAI
		if strings.HasPrefix(m.Name, "claude") {
			m.Provider = Anthropic
		}
	}
	if err := m.settleURL(spec, strings.Contains(rest, "@")); err != nil {
		return Model{}, err
	}
	// Find the key's variable and the price.
	m.KeyEnv = keyVariable(m.Name)
	if m.AtHome() {
		m.KeyEnv = homes[m.Provider].env
	}
	if m.Local() {
		m.Price = Price{AsOf: "local"}
	} else {
		m.Price, _ = PriceOf(m.Name)
	}
	return m, nil
}

// takeWeight cuts "=weight" off the end.
func (m *Model) takeWeight(spec string) (rest string, err error) {
	i := strings.LastIndexByte(spec, '=')
	if i < 0 {
		return spec, nil
	}
	w, err := strconv.ParseFloat(spec[i+1:], 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		return "",
			usage(fmt.Sprintf("--model %s: the weight %q is not a number above 0", spec, spec[i+1:]),
				"Write name=2 to ask it twice as often as a model without a weight.")
	}
	m.Weight = w
	return spec[:i], nil
}

func (m *Model) settleURL(spec string, given bool) error {
	if !given {
		m.URL = homes[m.Provider].url
		return nil
	}
	u, err := url.Parse(m.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return usage(fmt.Sprintf("--model %s: %q is not an address", spec, m.URL),
			"Write it with its scheme: name@http://127.0.0.1:8080/v1.")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return usage(fmt.Sprintf("--model %s: the address holds more than scheme, host and path", m.Name),
			"Keys belong in the environment or in a key file, never in an address.")
	}
	m.URL = strings.TrimRight(m.URL, "/")
	return nil
}

// ParseModels reads several models, in one value separated by commas or in many values.
func ParseModels(specs []string) ([]Model, error) {
	var out []Model
	for _, spec := range specs {
		for one := range strings.SplitSeq(spec, ",") {
			m, err := ParseModel(one)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(out, func(o Model) bool { return o.Name == m.Name }) {
				return nil,
					usage(fmt.Sprintf("--model %s: the name is given twice", m.Name),
						"Name each model once; a weight says how often it is asked.")
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// AtHome reports whether the model stands at its provider's own address.
func (m Model) AtHome() bool { return m.URL == homes[m.Provider].url }

// Local reports whether the model's server is on this machine.
func (m Model) Local() bool {
	u, err := url.Parse(m.URL)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback()
}

// keyVariable returns the variable for the key of a model that is not at home.
func keyVariable(name string) string {
	return "BEAGLE_KEY_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

func usage(what, remedy string) error { return &beagle.UsageError{What: what, Remedy: remedy} }
