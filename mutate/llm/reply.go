package llm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// These constants bound a reply. Read refuses more without reading it.
const (
	MaxReply  = 1 << 20 // bytes of text
	MaxCode   = 1 << 18 // bytes of code, about six thousand lines
	maxEdits  = 100     // search/replace blocks or hunks
	maxFences = 100     // code blocks
)

// A Change is the change that a reply makes: declarations, or edits of the text that the prompt
// showed. Exactly one of Decls and Edits is set.
type Change struct {
	// Go declarations with their comments, without package clause and imports
	Decls   string   `json:"decls,omitempty"`
	Edits   []Edit   `json:"edits,omitempty"`   // in the order of the reply
	Imports []string `json:"imports,omitempty"` // import specs to add: `"math/bits"`, `rnd "math/rand/v2"`
	Note    string   `json:"note,omitempty"`    // the first line of the model's words about it
}

// An Edit replaces a text that must occur exactly once.
type Edit struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

// A ReplyError says why a reply gives no candidate, in words that the model can act on in a repair
// round.
type ReplyError struct {
	What string // the fault, and the right form
	Show string // the nearest text of the parent, if a search did not match
}

func (e *ReplyError) Error() string {
	if e.Show == "" {
		return e.What
	}
	return e.What + "\nThe nearest text there is:\n" + e.Show
}

func badReply(format string, args ...any) *ReplyError {
	return &ReplyError{What: fmt.Sprintf(format, args...)}
}

// Read finds the change in a reply: search/replace blocks, or else unified diffs, or else Go
// declarations. It copes with prose around them, with several code fences, also indented or
// unclosed ones, and with other line ends and odd spaces. If several fences declare one name, the
// last declaration counts. An error is a [*ReplyError]. The time is linear in the text, whatever it
// holds.
func Read(text string) (Change, error) {
	if len(text) > MaxReply {
		return Change{}, badReply("the reply has %d bytes; the most is %d", len(text), MaxReply)
	}
	if !utf8.ValidString(text) {
		return Change{}, badReply("the reply is not UTF-8 text")
	}
	text = plainLines(text)
	blocks, prose := fences(text)
	if len(blocks) > maxFences {
		return Change{}, badReply("the reply holds more than %d code blocks", maxFences)
	}
	c := Change{Note: note(prose)}
	edits, imports, err := markedEdits(text, blocks)
	if err == nil && edits == nil {
		edits, err = diffEdits(text, blocks)
	}
	if err != nil {
		return Change{}, err
	}
	if edits != nil {
		c.Edits, c.Imports = edits, imports
		return c, nil
	}
	if err := c.readDecls(text, blocks); err != nil {
		return Change{}, err
	}
	return c, nil
}

// readDecls takes the declarations of all fences, or of a text without any.
func (c *Change) readDecls(text string, blocks []fence) error {
	// Collect the Go code.
	var codes []string
	for _, b := range blocks {
		if b.isGo() {
			codes = append(codes, b.text)
		}
	}
	if len(codes) == 0 {
		if bare := bareCode(text); bare != "" {
			codes = append(codes, bare)
		}
	}
	if len(codes) == 0 {
		return badReply("the reply holds no code: send search/replace blocks, or the declarations in a Go code fence")
	}
	// Parse it. One fence without errors is enough.
	var all []piece
	var imports []string
	var first error
	for _, code := range codes {
		ps, im, err := declarations(code)
		if err != nil && first == nil {
			first = err
		}
		all, imports = override(all, ps), append(imports, im...)
	}
	if len(all) == 0 && first != nil {
		return first
	}
	// Beside other fences, a program or a test only shows how to use the code.
	if len(codes) > 1 {
		all = withoutPrograms(all)
	}
	if len(all) == 0 {
		return badReply("the reply's code declares nothing")
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(strings.TrimSpace(p.text) + "\n\n")
	}
	c.Decls, c.Imports = strings.TrimSuffix(b.String(), "\n"), dropEqual(imports)
	return nil
}

// plainLines gives a text Unix line ends and removes a byte order mark.
func plainLines(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

var oddSpaces = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2007", " ", "\u2009", " ", "\u3000", " ",
	"\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "")

// plainSpaces replaces spaces that Go does not accept. A string literal may mean them, so Apply
// uses it only on text that does not work as it is.
func plainSpaces(text string) string { return oddSpaces.Replace(text) }

// note returns the first meaningful line of prose before any code.
func note(prose string) string {
	for line := range strings.Lines(prose) {
		if beginsCode(line) || strings.HasPrefix(strings.TrimSpace(line), "<<<<<") || strings.HasPrefix(line, "--- ") ||
			hunkHeader.MatchString(strings.TrimRight(line, "\n")) {
			break
		}
		line = strings.Trim(line, " \t\n#*>-`")
		if len(line) < 3 {
			continue
		}
		if len(line) > 200 {
			line = strings.ToValidUTF8(line[:200], "") + "…"
		}
		return line
	}
	return ""
}

func dropEqual(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
