package formats

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// A Piece is a part of a formatted text: a constant, or an argument with its verb.
type Piece struct {
	Text  string   // the constant
	Arg   ast.Expr // nil for a constant
	Verb  byte
	width int    // digits to fill up with zeros; 0 means none
	prec  string // digits after the point, as written; empty means none
}

// A directive of a format: zeros to fill up with, a precision, and a verb.
var directive = regexp.MustCompile(`^(?:0([1-9]|1[0-9]))?(?:\.([0-9]))?([a-zA-Z])`)

// Parse takes a constant format apart. It returns nil if the format has other flags, widths
// or indexes, or does not match its arguments.
func Parse(p *mutate.Pass, args []ast.Expr) []Piece {
	if len(args) == 0 {
		return nil
	}
	format, ok := facts.ConstString(p, args[0])
	if !ok {
		return nil
	}
	var out []Piece
	// Split the format at its directives. %% is a percent sign.
	args = args[1:]
	for {
		text, rest, found := strings.Cut(format, "%")
		if text != "" {
			out = append(out, Piece{Text: text})
		}
		if !found {
			break
		}
		if rest == "" {
			return nil
		}
		if rest[0] == '%' {
			out, format = append(out, Piece{Text: "%"}), rest[1:]
			continue
		}
		// A directive takes the next argument; a format with other flags is left to fmt.
		d := directive.FindStringSubmatch(rest)
		if d == nil || len(args) == 0 {
			return nil
		}
		format = rest[len(d[0]):]
		q := Piece{Arg: args[0], Verb: d[3][0], prec: d[2]}
		q.width, _ = strconv.Atoi(d[1])
		// A constant string is text of the format.
		if s, ok := facts.ConstString(p, q.Arg); ok && facts.IsExactString(p, q.Arg) && q.Bare() &&
			(q.Verb == 's' || q.Verb == 'v') {
			q = Piece{Text: s}
		}
		out = append(out, q)
		args = args[1:]
	}
	// fmt adds a complaint about arguments that no directive takes.
	if len(args) > 0 {
		return nil
	}
	return Join(out)
}

// Bare reports whether a piece has neither a width nor a precision.
func (q Piece) Bare() bool { return q.width == 0 && q.prec == "" }

func Join(in []Piece) []Piece {
	var out []Piece
	for _, q := range in {
		if n := len(out); n > 0 && q.Arg == nil && out[n-1].Arg == nil {
			out[n-1].Text += q.Text
			continue
		}
		out = append(out, q)
	}
	return out
}
