package llm

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
)

// A redactor shows what was captured, or may quote it, without saying what it
// is. It works by what is allowed: of words only those pass that the target's own
// source has, that Go predeclares, or that Beagle's messages are made of; every
// literal is reduced to its shape. A nil redactor shows things as they are.
type redactor struct{ words map[string]bool }

// withheld stands where a word was that nobody knows to be harmless.
const withheld = "(withheld)"

// newRedactor allows the words of a target's source, and of what else is shown
// anyway.
func newRedactor(t *beagle.Target, shown ...string) *redactor {
	r := &redactor{words: map[string]bool{}}
	if t != nil {
		shown = append(shown, t.Source, t.Signature, t.Name, t.PkgPath)
		for _, p := range slices.Concat(t.Params, t.Results) {
			shown = append(shown, p.Name, p.Type, p.Kind)
		}
	}
	for _, text := range shown {
		for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return !inWord(c) }) {
			r.words[word] = true
		}
	}
	return r
}

// redactor is what the parts of a prompt that hold captured things go through.
func (e *Evidence) redactor() *redactor {
	if !e.Redact {
		return nil
	}
	return newRedactor(e.Target)
}

func inWord(c rune) bool { return c == '_' || c >= utf8.RuneSelf || isAlnum(c) }

func isAlnum(c rune) bool { return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

func (r *redactor) allows(word string) bool {
	return r.words[word] || vocabulary()[word] || vocabulary()[strings.ToLower(word)]
}

// value says what a value in Go syntax looks like without saying what it is:
// types, lengths and kinds of characters stay, every literal goes. Of a panic its
// type stays.
//
//	"user-4711@x.org"     text(15 bytes: lower case, digits, punctuation)
//	[]string{"a", "b"}    []string{text(1 bytes: lower case), text(1 bytes: lower case)}
//	panic: string: on...  panic: string
func (r *redactor) value(goSyntax string) string {
	if r == nil {
		return goSyntax
	}
	if text, ok := strings.CutPrefix(goSyntax, thrown); ok {
		return r.panic(text)
	}
	verb := ""
	for _, v := range []string{"returns ", "leaves the arguments as "} {
		if rest, ok := strings.CutPrefix(goSyntax, v); ok {
			verb, goSyntax = v, rest
		}
	}
	if _, err := parser.ParseExpr("f(" + goSyntax + ")"); err != nil {
		return verb + r.prose(goSyntax, false)
	}
	return verb + r.tokens(goSyntax)
}

// sentence replaces every quoted text, every number with more than two digits or
// next to another and every unknown word in a sentence, as reasons and messages are.
// Where anything is replaced the smaller numbers are too, since they may be of what
// is quoted: only those stay that say where something is.
func (r *redactor) sentence(s string) string {
	if r == nil {
		return s
	}
	return r.prose(s, true)
}

// tokens keeps known names, operators and types of Go syntax, and the shape of
// each literal. What does not scan is replaced whole.
func (r *redactor) tokens(src string) string {
	var s scanner.Scanner
	failed, after := false, false
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) { failed = true }, 0)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if failed {
			return fmt.Sprintf("(%d bytes)", len(src))
		}
		name := tok == token.IDENT || tok.IsKeyword()
		if name && after {
			b.WriteByte(' ')
		}
		after = name
		switch {
		case tok == token.EOF:
			return strings.TrimSpace(b.String())
		case tok == token.SEMICOLON && lit == "\n":
		case tok == token.IDENT && !r.allows(lit):
			b.WriteString(withheld)
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
		if err != nil { // prose quotes as it likes
			s = lit[1 : len(lit)-1]
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

// prose goes through prose; small says that numbers of one or two digits,
// which count things, may stay: all of them when all else may, or those of lines.
func (r *redactor) prose(s string, small bool) string {
	all := small && !quotesCall.MatchString(s) && r.knows(s)
	var b strings.Builder
	for rest := s; rest != ""; {
		if text, ok := strings.CutPrefix(rest, thrown); ok {
			b.WriteString(r.panic(text))
			break
		}
		n, shown := r.next(rest, all || small && placed(s[:len(s)-len(rest)]))
		if shown != withheld || !strings.HasSuffix(strings.TrimRight(b.String(), " "), withheld) {
			b.WriteString(shown)
		}
		rest = rest[n:]
	}
	return b.String()
}

// quotesCall is a text that shows a call: its numbers are values.
var quotesCall = regexp.MustCompile(`[\pL\pN_\])]\(`)

// knows reports whether a text is all of known words, marks and small numbers: one
// that quotes nothing.
func (r *redactor) knows(s string) bool {
	for s != "" {
		n, shown := r.next(s, true)
		if shown != s[:n] || strings.HasPrefix(s, thrown) {
			return false
		}
		s = s[n:]
	}
	return true
}

// placed reports whether a number that follows a text is that of a line.
func placed(before string) bool {
	for _, place := range []string{"line ", ".go:", ".jsonl:", ".json:"} {
		if strings.HasSuffix(before, place) {
			return true
		}
	}
	return false
}

// next is the length of the first piece of a text (a word, a number, something
// quoted, a mark), and what is shown of it; small says that a small number is.
func (r *redactor) next(s string, small bool) (n int, shown string) {
	switch c := rune(s[0]); {
	case isDigit(c):
		if n := numbersAt(s); n > 0 {
			return n, "numbers"
		}
		lit := s[:runOf(s, false)]
		return len(lit), numberShape(lit, small)
	case inWord(c):
		word := s[:runOf(s, true)]
		if r.allows(word) {
			return len(word), word
		}
		return len(word), withheld
	case c == '"' || c == '`' || c == '\'':
		if lit := quotedAt(s); lit != "" {
			return len(lit), literalShape(token.STRING, lit)
		}
	case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
		return 1, " "
	}
	return 1, s[:1]
}

// runOf is the length of the word or number that s begins with; a word may have
// an apostrophe within.
func runOf(s string, word bool) int {
	i := strings.IndexFunc(s, func(c rune) bool { return !inWord(c) })
	switch {
	case i < 0:
		return len(s)
	case word && s[i] == '\'' && i+1 < len(s) && isAlnum(rune(s[i+1])):
		return i + 1 + runOf(s[i+1:], false)
	}
	return i
}

// numbersAt is the length of the numbers that s begins with when nothing but marks
// and spaces stands between them: an address, a date, a call number or a list is one
// value, however small its parts. 0 when there is only one.
func numbersAt(s string) int {
	n := 0
	for end := runOf(s, false); ; {
		gap := strings.IndexFunc(s[end:], func(c rune) bool { return inWord(c) || strings.ContainsRune("\"`'\n", c) })
		if gap < 0 || !isDigit(rune(s[end+gap])) {
			return n
		}
		end += gap
		end += runOf(s[end:], false)
		n = end
	}
}

// numberShape is what is shown of a number. Small ones and times, which may have a
// digit more, are shown if small says so.
func numberShape(lit string, small bool) string {
	digits := strings.TrimRightFunc(lit, func(c rune) bool { return !isDigit(c) })
	_, plain := strconv.ParseUint(digits, 10, 64)
	switch unit := lit[len(digits):]; {
	case plain != nil || !slices.Contains([]string{"", "ns", "µs", "ms", "s", "m", "h", "x"}, unit):
		return "number"
	case small && (len(digits) <= 2 || unit != "" && len(digits) <= 3):
		return lit
	}
	return literalShape(token.INT, digits)
}

// quotedAt is the quoted text that s begins with; "" when nothing ends it.
func quotedAt(s string) string {
	if lit, err := strconv.QuotedPrefix(s); err == nil {
		return lit
	}
	if i := strings.IndexByte(s[1:], s[0]); i >= 0 {
		return s[:i+2]
	}
	return ""
}

// thrown begins what a panic is told as: its kind or the type of its value, and
// its text.
const thrown = "panic: "

// panic keeps of a panic what is no text of the target's: what the runtime says,
// or the type of the value.
func (r *redactor) panic(text string) string {
	if slices.Contains(runtimeSays, text) {
		return thrown + text
	}
	kind, _, ok := strings.Cut(text, ": ")
	if ok && !strings.ContainsFunc(kind, func(c rune) bool { return !inWord(c) && !strings.ContainsRune("*[].{}/", c) }) {
		known := true
		for word := range strings.FieldsFuncSeq(kind, func(c rune) bool { return !inWord(c) }) {
			known = known && (r.words[word] || goTypes[word] || types.Universe.Lookup(word) != nil)
		}
		if known {
			return thrown + kind
		}
	}
	return thrown + withheld
}

// runtimeSays are the runtime's own errors, as replays tell them.
var runtimeSays = []string{
	"index out of range", "slice bounds out of range", "integer divide by zero", "invalid memory address or nil pointer dereference",
	"interface conversion", "assignment to entry in nil map", "negative shift amount", "integer overflow", "floating point error",
	"makeslice: len out of range", "makeslice: cap out of range", "makechan: size out of range", "makemap: size out of range",
	"growslice: len out of range", "close of nil channel", "close of closed channel", "send on closed channel",
}

// goTypes are words of the types that panics and errors of the standard library have.
var goTypes = map[string]bool{
	"errors": true, "errorString": true, "joinError": true, "fmt": true, "wrapError": true, "wrapErrors": true, "strconv": true, "NumError": true,
	"fs": true, "PathError": true, "json": true, "SyntaxError": true, "time": true, "ParseError": true, "Duration": true, "reflect": true, "ValueError": true,
	"interface": true, "struct": true, "map": true, "func": true, "chan": true,
}

// RedactVerdict is a verdict as it may be shown to who gets shapes instead of
// captured values: counterexamples are made of them, and so are the texts that
// quote results. Names pass that the target has; nil is one that has none. What
// it was made from stays as it is.
func RedactVerdict(v *beagle.Verdict, t *beagle.Target) *beagle.Verdict {
	r, out := newRedactor(t), *v
	out.Reason = r.sentence(v.Reason)
	if x := v.Counterexample; x != nil {
		if general := x.Difference(); general != "" {
			out.Reason = general
		}
		out.Counterexample = &beagle.Counterexample{Go: r.value(x.Go), Want: r.value(x.Want), Got: r.value(x.Got), Kind: x.Kind}
	}
	out.Checks = slices.Clone(v.Checks)
	for i := range out.Checks {
		out.Checks[i].Note = r.sentence(out.Checks[i].Note)
	}
	out.Warnings = slices.Clone(v.Warnings)
	for i := range out.Warnings {
		out.Warnings[i] = r.sentence(out.Warnings[i])
	}
	return &out
}

// RedactText is a message as it may be shown to who gets shapes instead of
// captured values. Names pass that the target has or that are shown anyway.
func RedactText(message string, t *beagle.Target, shown ...string) string {
	return newRedactor(t, shown...).sentence(message)
}
