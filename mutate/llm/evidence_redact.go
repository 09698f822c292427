package llm

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle"
)

// shape says what a value in Go syntax looks like without saying what it is:
// types, lengths and kinds of characters stay, every literal goes.
//
//	"user-4711@x.org"     a text of 15 bytes: lower case, digits, punctuation
//	[]string{"a", "b"}    []string{text(1: lower case), text(1: lower case)}
func shape(goSyntax string) string {
	e, err := parser.ParseExpr(goSyntax)
	if err != nil {
		return tokensOnly(goSyntax)
	}
	if lit, ok := e.(*ast.BasicLit); ok {
		return literalShape(lit.Kind, lit.Value)
	}
	return tokensOnly(goSyntax)
}

// tokensOnly keeps names, operators and types of Go syntax, and the shape of
// each literal. What does not scan is replaced whole.
func tokensOnly(src string) string {
	var s scanner.Scanner
	failed := false
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) { failed = true }, 0)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if failed {
			return fmt.Sprintf("(%d bytes)", len(src))
		}
		switch {
		case tok == token.EOF:
			return strings.TrimSpace(b.String())
		case tok == token.SEMICOLON && lit == "\n":
		case tok.IsLiteral() && tok != token.IDENT:
			b.WriteString(literalShape(tok, lit))
		case tok == token.COMMA || tok == token.COLON:
			b.WriteString(tok.String() + " ")
		case lit != "":
			b.WriteString(lit)
		default:
			b.WriteString(tok.String())
		}
	}
}

func literalShape(kind token.Token, lit string) string {
	switch kind {
	case token.STRING:
		s, err := strconv.Unquote(lit)
		if err != nil {
			return "text"
		}
		return textShape(s)
	case token.INT:
		return fmt.Sprintf("integer(%d digits)", len(lit))
	case token.FLOAT, token.IMAG:
		return "number"
	case token.CHAR:
		return "character"
	}
	return "value"
}

// textShape is the length and the kinds of characters of a text.
func textShape(s string) string {
	if s == "" {
		return "text(empty)"
	}
	return fmt.Sprintf("text(%d bytes: %s)", len(s), strings.Join(kinds(s), ", "))
}

// charKinds are the kinds of characters that shapes tell apart.
var charKinds = []struct {
	name string
	in   func(rune) bool
}{
	{"lower case", func(r rune) bool { return r >= 'a' && r <= 'z' }},
	{"upper case", func(r rune) bool { return r >= 'A' && r <= 'Z' }},
	{"digits", func(r rune) bool { return r >= '0' && r <= '9' }},
	{"spaces", func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }},
	{"punctuation", func(r rune) bool { return r < 0x7f && r > ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }},
	{"control", func(r rune) bool { return r < ' ' && (r < '\t' || r > '\r') || r == 0x7f }},
	{"not ASCII", func(r rune) bool { return r >= 0x80 }},
}

func kinds(s string) []string {
	var out []string
	for _, k := range charKinds {
		if strings.ContainsFunc(s, k.in) {
			out = append(out, k.name)
		}
	}
	return out
}

// shapes replaces every quoted text and every number with more than two digits
// in a sentence, as reasons and panic messages are.
func shapes(sentence string) string {
	var b strings.Builder
	for s := sentence; s != ""; {
		i := strings.IndexFunc(s, func(r rune) bool { return r == '"' || r == '`' || r == '\'' || r >= '0' && r <= '9' })
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		lit := literalAt(s[i:])
		switch {
		case lit == "":
			b.WriteByte(s[i])
			lit = s[i : i+1]
		case lit[0] >= '0' && lit[0] <= '9':
			if len(lit) > 2 {
				b.WriteString(literalShape(token.INT, lit))
			} else {
				b.WriteString(lit)
			}
		default:
			b.WriteString(literalShape(token.STRING, lit))
		}
		s = s[i+len(lit):]
	}
	return b.String()
}

// literalAt is the number or the quoted text that s begins with.
func literalAt(s string) string {
	if s[0] >= '0' && s[0] <= '9' {
		return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	}
	if s[0] != '\'' {
		if lit, err := strconv.QuotedPrefix(s); err == nil {
			return lit
		}
	}
	return ""
}

// Leaks reports whether a version's source holds a frequent captured value
// that the original does not, as a copy for the frequent case does. With
// Redact such a version is not shown, so it is no good parent for a model.
func (e *Evidence) Leaks(source string) bool {
	if !e.Redact || e.Facets == nil {
		return false
	}
	captured := map[string]bool{}
	for _, p := range e.Facets.Params {
		for _, v := range p.Top {
			for lit := range literals(v.Value) {
				captured[lit] = true
			}
		}
	}
	own := map[string]bool{}
	if e.Target != nil {
		own = literals(e.Target.Source)
	}
	for lit := range literals(source) {
		if captured[lit] && !own[lit] {
			return true
		}
	}
	return false
}

// literals are the texts and numbers in some Go code; those of a digit or two
// say nothing.
func literals(src string) map[string]bool {
	out := map[string]bool{}
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) {}, 0)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok == token.STRING:
			if text, err := strconv.Unquote(lit); err == nil && text != "" {
				out["text "+text] = true
			}
		case (tok == token.INT || tok == token.FLOAT) && len(lit) > 2:
			out[lit] = true
		}
	}
}

// RedactVerdict is a verdict as it may be shown to who gets shapes instead of
// captured values: counterexamples are made of them, and so are the texts that
// quote results. What it was made from stays as it is.
func RedactVerdict(v *beagle.Verdict) *beagle.Verdict {
	out := *v
	out.Reason = shapes(v.Reason)
	if x := v.Counterexample; x != nil {
		out.Counterexample = &beagle.Counterexample{Go: shape(x.Go), Want: shape(x.Want), Got: shape(x.Got), Kind: x.Kind}
	}
	out.Checks = slices.Clone(v.Checks)
	for i := range out.Checks {
		out.Checks[i].Note = shapes(out.Checks[i].Note)
	}
	out.Warnings = slices.Clone(v.Warnings)
	for i := range out.Warnings {
		out.Warnings[i] = shapes(out.Warnings[i])
	}
	return &out
}
