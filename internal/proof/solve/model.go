package solve

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseModel reads what get-value prints: ((v0 #x1f) (v1 true) (v2 (_ bv7 32))).
func ParseModel(text string) (map[string]uint64, error) {
	// The model is a list of pairs, each of a name and a value.
	p := parser{text: text}
	out := map[string]uint64{}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for {
		switch t := p.token(); t {
		case ")":
			return out, nil
		case "(":
			name := p.token()
			if name == "" || name == "(" || name == ")" {
				return nil, fmt.Errorf("the model has no name at %q", p.excerpt())
			}
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			out[name] = v
			if err := p.expect(")"); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("the model goes wrong at %q", t+p.excerpt())
		}
	}
}

type parser struct {
	text string
	at   int
}

func (p *parser) excerpt() string { return p.text[min(p.at, len(p.text)):min(p.at+20, len(p.text))] }

// token returns the next parenthesis or word, or "" at the end.
func (p *parser) token() string {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return ""
	}
	if c := p.text[p.at]; c == '(' || c == ')' {
		p.at++
		return string(c)
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n()", p.text[p.at]) < 0 {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) expect(want string) error {
	if got := p.token(); got != want {
		return fmt.Errorf("the model has %q where %q belongs", got, want)
	}
	return nil
}

// value reads a truth value, or a number in one of the three forms that solvers use.
func (p *parser) value() (uint64, error) {
	t := p.token()
	switch {
	case t == "true":
		return 1, nil
	case t == "false":
		return 0, nil
	case strings.HasPrefix(t, "#x"):
		return strconv.ParseUint(t[2:], 16, 64)
	case strings.HasPrefix(t, "#b"):
		return strconv.ParseUint(t[2:], 2, 64)
	case t == "(":
		if err := p.expect("_"); err != nil {
			return 0, err
		}
		n, ok := strings.CutPrefix(p.token(), "bv")
		if !ok {
			return 0, fmt.Errorf("the model has no number at %q", p.excerpt())
		}
		v, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			return 0, err
		}
		p.token() // the width
		return v, p.expect(")")
	}
	return 0, fmt.Errorf("the model has %q where a value belongs", t)
}
