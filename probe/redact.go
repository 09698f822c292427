package probe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// secretNames are parts of names of parameters, fields and map keys whose values are left out.
var secretNames = []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "auth", "cookie",
	"session", "credential", "apikey", "accesskey", "privatekey", "signature", "ssn", "creditcard", "cardnumber",
	"cvv", "iban"}

// A pattern matches text that is left out wherever it stands. may is a quick test that most text
// fails: it must hold for everything that the expression matches.
type pattern struct {
	re  *regexp.Regexp
	may func(l looks) bool
}

// looks holds the findings of one pass over a text.
type looks struct {
	size, digits                 int
	dot, dash, space, colon, set bool // set: an equals sign or a colon
	at                           bool
	word                         bool // the beginning of a word that secrets are called by
}

// secretPatterns are always searched for.
var secretPatterns = []pattern{
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`), func(l looks) bool { return l.dash && l.size > 20 }},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.`), // a JSON web token
		func(l looks) bool { return l.dot && l.size > 20 }},
	{regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`), // an access key
		func(l looks) bool { return l.size >= 20 }},
	{regexp.MustCompile(`\b(ghp|gho|ghs|ghu|glpat|xox[abprs]|sk)[-_][A-Za-z0-9_-]{16,}`), // by their beginnings
		func(l looks) bool { return l.dash && l.size > 18 }},
	{regexp.MustCompile(`(?i)\bbearer +[a-z0-9._~+/=-]{8,}`), func(l looks) bool { return l.space && l.size > 14 }},
	{regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|api_?key)["']?\s*[=:]\s*\S`),
		func(l looks) bool { return l.set && l.word }},
	{regexp.MustCompile(`://[^/\s:@]+:[^/\s:@]+@`), // a URL with a password
		func(l looks) bool { return l.at && l.colon }},
	{regexp.MustCompile(`\b(?:\d[ -]?){13,19}\b`), // the number of a card
		func(l looks) bool { return l.digits >= 13 }},
}

// look scans a text once.
func look(s string) (l looks) {
	l.size = len(s)
	for i := range len(s) {
		switch c := s[i]; c {
		case '.':
			l.dot = true
		case '-', '_':
			l.dash = true
		case ' ':
			l.space = true
		case ':':
			l.colon, l.set = true, true
		case '=':
			l.set = true
		case '@':
			l.at = true
		case 'p', 'P', 's', 'S', 't', 'T', 'a', 'A':
			l.word = l.word || len(s)-i > 2 && secretWord(c|0x20, s[i+1]|0x20, s[i+2]|0x20)
		default:
			if c >= '0' && c <= '9' {
				l.digits++
			}
		}
	}
	return l
}

// secretWord reports whether a word of the patterns begins with three letters.
func secretWord(a, b, c byte) bool {
	switch a {
	case 'p':
		return b == 'a' && c == 's' || b == 'w' && c == 'd'
	case 's':
		return b == 'e' && c == 'c'
	case 't':
		return b == 'o' && c == 'k'
	}
	return b == 'p' && c == 'i'
}

// A redactor decides what is secret. It is made once for a session; calls ask it at the same time.
type redactor struct {
	names    []string
	types    []string
	patterns []*regexp.Regexp // of this session
	known    map[string]bool  // names of declarations; complete before the first call asks
}

// newRedactor adds what a session names to what is always secret.
func newRedactor(names, types, patterns []string) (*redactor, error) {
	r := &redactor{names: slices.Clone(secretNames), types: types, known: map[string]bool{}}
	for _, n := range names {
		if n = plainName(n); n != "" {
			r.names = append(r.names, n)
		}
	}
	for _, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("invalid pattern %q: %w", p, err)
		}
		r.patterns = append(r.patterns, re)
	}
	return r, nil
}

// maxNames bounds the memory for names, of which map keys may bring any number.
const maxNames = 4096

// name reports whether a parameter, field or key of this name is secret.
func (r *redactor) name(name string) bool {
	if secret, ok := r.known[name]; ok {
		return secret
	}
	plain := plainName(name)
	return slices.ContainsFunc(r.names, func(n string) bool { return strings.Contains(plain, n) })
}

// learn remembers the answer for a name of a declaration.
func (r *redactor) learn(c *coder, seen map[*coder]bool) {
	if c == nil || seen[c] || len(seen) > maxNames {
		return
	}
	seen[c] = true
	for _, f := range c.fields {
		r.known[f.name] = r.name(f.name)
		r.learn(f.c, seen)
	}
	r.learn(c.elem, seen)
	r.learn(c.key, seen)
}

// typ reports whether values of a type are secret.
func (r *redactor) typ(c *coder) bool { return len(r.types) > 0 && slices.Contains(r.types, c.name) }

// text reports whether a pattern matches.
func (r *redactor) text(s string) bool {
	l := look(s)
	for i := range secretPatterns {
		if p := &secretPatterns[i]; p.may(l) && p.re.MatchString(s) {
			return true
		}
	}
	return slices.ContainsFunc(r.patterns, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}
