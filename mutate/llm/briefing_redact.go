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

// A redactor shows captured things, and texts that may quote them, without revealing them. It works
// by permission. It passes words of the target's own source, those that Go predeclares, and those
// of Beagle's messages. It reduces every literal to its shape. A nil redactor changes nothing.
type redactor struct{ words map[string]bool }

// withheld replaces a word that may not be harmless.
const withheld = "(withheld)"

// newRedactor allows the words of a target's source, and of other texts that the prompt shows
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

// redactor returns the redactor for the captured parts of a prompt.
func (e *Briefing) redactor() *redactor {
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

// value describes a value in Go syntax without revealing it. Types, lengths and kinds of characters
// stay, and every literal goes. A panic keeps its type.
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

// sentence redacts a reason or a message. It replaces every quoted text, every unknown word, and
// every number that has more than two digits or stands next to another. If it replaces anything, it
// replaces smaller numbers too, since they may belong to the quoted value. Line numbers stay.
func (r *redactor) sentence(s string) string {
	if r == nil {
		return s
	}
	return r.prose(s, true)
}

// tokens keeps known names, operators and types of Go syntax, and the shape of each literal. It
// replaces text that does not scan as a whole.
func (r *redactor) tokens(src string) string {
	// Scan the text as Go. after says that the token before was a name or a keyword.
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
		// Two names in a row need a space between them.
		name := tok == token.IDENT || tok.IsKeyword()
		if name && after {
			b.WriteByte(' ')
		}
		after = name
		// Write the token, or what may be shown of it.
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
		if err != nil { // prose may quote anything
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

// textShape returns the length of a text and its kinds of characters.
func textShape(s string) string {
	if s == "" {
		return "text(empty)"
	}
	return fmt.Sprintf("text(%d bytes: %s)", len(s), strings.Join(kinds(s), ", "))
}

// charKinds lists the kinds of characters that shapes name.
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

// prose redacts prose. Numbers of one or two digits usually count things. With small set, all of
// them stay if everything else may stay; otherwise only line numbers do.
func (r *redactor) prose(s string, small bool) string {
	all := small && !quotesCall.MatchString(s) && r.knows(s)
	var b strings.Builder
	for rest := s; rest != ""; {
		if text, ok := strings.CutPrefix(rest, thrown); ok {
			b.WriteString(r.panic(text))
			break
		}
		n, shown := r.shapeOf(rest, all || small && placed(s[:len(s)-len(rest)]))
		if shown != withheld || !strings.HasSuffix(strings.TrimRight(b.String(), " "), withheld) {
			b.WriteString(shown)
		}
		rest = rest[n:]
	}
	return b.String()
}

// quotesCall matches a text that shows a call; its numbers are values.
var quotesCall = regexp.MustCompile(`[\pL\pN_\])]\(`)

// knows reports whether a text quotes nothing: it consists of known words, marks and small numbers.
func (r *redactor) knows(s string) bool {
	for s != "" {
		n, shown := r.shapeOf(s, true)
		if shown != s[:n] || strings.HasPrefix(s, thrown) {
			return false
		}
		s = s[n:]
	}
	return true
}

// placed reports whether a number after a text is a line number.
func placed(before string) bool {
	for _, place := range []string{"line ", ".go:", ".jsonl:", ".json:"} {
		if strings.HasSuffix(before, place) {
			return true
		}
	}
	return false
}

// shapeOf returns the length of the first piece of a text (a word, a number, a quoted text, a
// mark), and what to show for it. small says whether to show a small number.
func (r *redactor) shapeOf(s string, small bool) (n int, shown string) {
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

// runOf returns the length of the word or number that s begins with; a word may have an apostrophe
// within.
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

// numbersAt returns the length of the numbers that s begins with when nothing but marks and spaces
// stands between them: an address, a date, a call number or a list is one value, however small its
// parts. 0 when there is only one.
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

// numberShape returns what to show for a number. It shows small numbers, and times with one digit
// more, if small is set.
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

// quotedAt returns the quoted text that s begins with, or "" if nothing ends it.
func quotedAt(s string) string {
	if lit, err := strconv.QuotedPrefix(s); err == nil {
		return lit
	}
	if i := strings.IndexByte(s[1:], s[0]); i >= 0 {
		return s[:i+2]
	}
	return ""
}

// thrown begins the text of a panic; its kind or the type of its value, and its text, follow.
const thrown = "panic: "

// panic keeps the parts of a panic that are not the target's own text: a message of the runtime, or
// the type of the value.
func (r *redactor) panic(text string) string {
	if slices.Contains(runtimeSays, text) {
		return thrown + text
	}
	kind, _, ok := strings.Cut(text, ": ")
	if ok &&
		!strings.ContainsFunc(kind, func(c rune) bool { return !inWord(c) && !strings.ContainsRune("*[].{}/", c) }) {
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

// runtimeSays lists the runtime's own errors, as replays report them.
var runtimeSays = []string{
	"index out of range", "slice bounds out of range", "integer divide by zero",
	"invalid memory address or nil pointer dereference",
	"interface conversion", "assignment to entry in nil map", "negative shift amount", "integer overflow",
	"floating point error",
	"makeslice: len out of range", "makeslice: cap out of range", "makechan: size out of range",
	"makemap: size out of range",
	"growslice: len out of range", "close of nil channel", "close of closed channel", "send on closed channel",
}

// goTypes lists words of the types of panics and errors in the standard library.
var goTypes = map[string]bool{
	"errors": true, "errorString": true, "joinError": true, "fmt": true, "wrapError": true, "wrapErrors": true,
	"strconv": true, "NumError": true,
	"fs": true, "PathError": true, "json": true, "SyntaxError": true, "time": true, "ParseError": true,
	"Duration": true, "reflect": true, "ValueError": true,
	"interface": true, "struct": true, "map": true, "func": true, "chan": true,
}

// RedactVerdict returns a copy of a verdict for readers who may see shapes but no captured values.
// Counterexamples consist of such values, and some texts quote results. It passes the target's
// names; t may be nil.
func RedactVerdict(v *beagle.Verdict, t *beagle.Target) *beagle.Verdict {
	r, out := newRedactor(t), *v
	out.Reason = r.sentence(v.Reason)
	if x := v.Counterexample; x != nil {
		if general := x.Difference(); general != "" {
			out.Reason = general
		}
		out.Counterexample = &beagle.Counterexample{
			Go:   r.value(x.Go),
			Want: r.value(x.Want),
			Got:  r.value(x.Got),
			Kind: x.Kind,
		}
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

// RedactText returns a message for readers who may see shapes but no captured values. It passes the
// target's names, and names that are shown anyway.
func RedactText(message string, t *beagle.Target, shown ...string) string {
	return newRedactor(t, shown...).sentence(message)
}
