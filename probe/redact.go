package probe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// secretNames are parts of names of parameters, fields and map keys whose values are left out.
var secretNames = []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "auth", "cookie",
	"session", "credential", "apikey", "accesskey", "privatekey", "signature", "ssn", "creditcard", "cardnumber",
	"cvv", "iban"}

// secretPatterns match text that is left out wherever it stands.
var secretPatterns = []string{
	`-----BEGIN [A-Z ]*PRIVATE KEY`,
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.`,                   // a JSON web token
	`\b(AKIA|ASIA)[A-Z0-9]{16}\b`,                                   // an access key
	`\b(ghp|gho|ghs|ghu|glpat|xox[abprs]|sk)[-_][A-Za-z0-9_-]{16,}`, // tokens with a known beginning
	`(?i)\bbearer +[a-z0-9._~+/=-]{8,}`,
	`(?i)\b(password|passwd|pwd|secret|token|api_?key)["']?\s*[=:]\s*\S`,
	`://[^/\s:@]+:[^/\s:@]+@`, // a URL with a password
	`\b(?:\d[ -]?){13,19}\b`,  // the number of a card
}

// A redactor decides what is secret. It is made once for a session; calls ask it at the same time.
type redactor struct {
	names    []string
	types    []string
	patterns []*regexp.Regexp
	known    sync.Map // name -> whether it is secret
}

// newRedactor adds what a session names to what is always secret.
func newRedactor(names, types, patterns []string) (*redactor, error) {
	r := &redactor{names: slices.Clone(secretNames), types: types}
	for _, n := range names {
		if n = plainName(n); n != "" {
			r.names = append(r.names, n)
		}
	}
	for _, p := range slices.Concat(secretPatterns, patterns) {
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
	if secret, ok := r.known.Load(name); ok {
		return secret.(bool)
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
		r.known.Store(f.name, r.name(f.name))
		r.learn(f.c, seen)
	}
	r.learn(c.elem, seen)
	r.learn(c.key, seen)
}

// typ reports whether values of a type are secret.
func (r *redactor) typ(c *coder) bool { return len(r.types) > 0 && slices.Contains(r.types, c.name) }

// text reports whether a pattern matches.
func (r *redactor) text(s string) bool {
	return slices.ContainsFunc(r.patterns, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}
