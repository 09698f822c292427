package beagle

import (
	"fmt"
	"strconv"
	"strings"
)

// An Assurance says how far the evidence for a candidate's behaviour reaches.
type Assurance struct {
	Inputs int `json:"inputs"` // that both versions were compared on
	// the guided search ended because it met nothing new, not for want of time
	Saturated   bool     `json:"saturated"`
	Unreached   []Branch `json:"unreached,omitempty"`   // branches of either version that no input reached
	Proof       *Proof   `json:"proof,omitempty"`       // nil when nothing was proved
	Constructed []string `json:"constructed,omitempty"` // rewrites among the steps whose lemma is proved
	Steps       int      `json:"steps,omitempty"`       // rewrites that led to the version; none when it was written
	NotChecked  []string `json:"not_checked,omitempty"` // parts that no check looked at, and why
	// the evidence is from inside the user's tests, and Inputs counts the target's calls there in
	// which both versions were compared
	InPlace bool `json:"in_place,omitempty"`
}

// A Branch is one side of a decision in a version's source.
type Branch struct {
	Version string `json:"version"` // "original" or "candidate"
	Line    int    `json:"line"`
	Text    string `json:"text"` // the condition
	Side    string `json:"side"` // "true", "false", "case", "loop never entered"
}

// A Proof says how far a solver, or equal terms, proved two versions equal.
type Proof struct {
	Complete bool     `json:"complete"`          // for all inputs; otherwise up to Length
	Length   int      `json:"length,omitempty"`  // of every string and slice
	Solvers  []string `json:"solvers,omitempty"` // that agree; none when the terms were equal already
	Not      []string `json:"not,omitempty"`     // parts of an outcome that the proof does not compare: "error texts", "capacity"
	Millis   float64  `json:"millis"`
}

// How much of a list one line holds.
const (
	unreachedInLine  = 3
	notCheckedInLine = 4
)

// String returns the assurance in one line: the evidence, and some of its gaps.
func (a *Assurance) String() string {
	line := a.Evidence()
	if len(a.NotChecked) > 0 {
		line += ", not checked: " + listSome(a.NotChecked, notCheckedInLine)
	}
	if text := a.Unmet(); text != "" {
		line += "; " + text
	}
	return line
}

// Evidence names the comparisons and the proof:
//
//	2,229,492 inputs, search saturated, proved for all inputs up to length 12 (z3 5.4.1)
func (a *Assurance) Evidence() string {
	parts := []string{Thousands(a.Inputs) + " inputs"}
	if a.InPlace {
		parts[0] = "in place: " + Thousands(a.Inputs) + " calls compared"
	}
	if a.Saturated {
		parts = append(parts, "search saturated")
	}
	if a.Proof != nil {
		parts = append(parts, a.Proof.String())
	}
	if n := len(a.Constructed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d steps correct by construction", n, max(n, a.Steps)))
	}
	return strings.Join(parts, ", ")
}

// Unmet names branches that no input reached, "" if there are none.
func (a *Assurance) Unmet() string {
	n := len(a.Unreached)
	if n == 0 {
		return ""
	}
	places := make([]string, n)
	for i, b := range a.Unreached {
		places[i] = b.String()
	}
	return fmt.Sprintf("%s no input reached (%s)", countNoun(n, "branch", "branches"), listSome(places,
		unreachedInLine))
}

// String describes how much is proved, and by which prover.
func (p *Proof) String() string {
	by := "equal terms"
	if len(p.Solvers) > 0 {
		by = strings.Join(p.Solvers, ", ")
	}
	text := "proved for all inputs"
	if !p.Complete {
		text += fmt.Sprintf(" up to length %d", p.Length)
	}
	if len(p.Not) > 0 {
		text += " except " + strings.Join(p.Not, " and ")
	}
	return text + " (" + by + ")"
}

// String names the place: line 12 `n > 65535`.
func (b Branch) String() string {
	text := fmt.Sprintf("line %d `%s`", b.Line, b.Text)
	if b.Side != "" && b.Side != "true" {
		text += " " + b.Side
	}
	if b.Version == "original" {
		text += " of the original"
	}
	return text
}

func listSome(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:most], "; "), len(list)-most)
}

func countNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Thousands writes 12345 as 12,345.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
