package rules

import (
	_ "embed"
	"fmt"
	"strings"
)

// recallText is what 'go run ./bench/field recall -write' counted.
//
//go:embed recall.txt
var recallText string

// A Recall says in how many functions of public packages a rule finds a place,
// with inputs as favourable as can be. A rule that finds none in thousands was
// written for too few.
type Recall struct {
	Found     int `json:"found"`
	Functions int `json:"functions"`
	Packages  int `json:"packages"`
	// AtLeast says that the rule was counted in some of these functions only.
	AtLeast bool `json:"at_least,omitempty"`
}

// rarely is the share of functions below which a rule is rare.
const rarely = 1.0 / 2000

// Rare reports whether the rule finds a place in fewer than 1 in 2,000 functions.
func (r Recall) Rare() bool { return float64(r.Found) < rarely*float64(r.Functions) }

// RecallOf is the recall of a rule. ok is false for rules of Go's own tools, which
// are not counted.
func RecallOf(name string) (r Recall, ok bool) {
	for line := range strings.Lines(recallText) {
		var word string
		switch {
		case strings.HasPrefix(line, "#"):
		case r.Functions == 0:
			if _, err := fmt.Sscanf(line, "%d functions %d packages", &r.Functions, &r.Packages); err != nil {
				panic("recall.txt: " + err.Error()) // it is compiled in, and a test reads it
			}
		default:
			if _, err := fmt.Sscan(line, &word, &r.Found); err == nil && word == name {
				r.AtLeast = strings.HasSuffix(strings.TrimSpace(line), " +")
				return r, true
			}
		}
	}
	return Recall{}, false
}
