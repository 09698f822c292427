package dogstatsd

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

const eventRemedy = "write _e{<title bytes>,<text bytes>}:title|text"

// Event reads an event line. Lengths count bytes before `\n` is unescaped, and
// title and text may hold `|`. The error is always a *SyntaxError.
func (p *Parser) Event(line []byte) (Event, error) {
	title, text, start, err := eventHeader(line)
	if err != nil {
		return Event{}, err
	}
	end := start + title + 1 + text
	switch {
	case len(line) < end:
		return Event{},
			syntaxError(line, len(line), "the line is shorter than its lengths say",
				"count the bytes of title and text")
	case line[start+title] != '|':
		return Event{},
			syntaxError(line, start+title, "no | where the title ends", "count the title's bytes, not its letters")
	case len(line) > end && line[end] != '|':
		return Event{}, syntaxError(line, end, "no | where the text ends", "count the text's bytes, not its letters")
	}
	e := Event{
		Title: unescape(line[start : start+title]), Text: unescape(line[start+title+1 : end]),
		Priority: "normal", Alert: "info",
	}
	p.eventFields(&e, line, end)
	return e, nil
}

// eventHeader reads `_e{5,4}:` and returns the two lengths and the position
// after the colon. Lengths are bounded by the line, so their sum cannot overflow.
func eventHeader(line []byte) (title, text, start int, _ error) {
	const open = len("_e{")
	header, _, found := bytes.Cut(line, []byte("}:"))
	if !found || len(header) < open {
		return 0, 0, 0, syntaxError(line, 0, "the event's header has no end", eventRemedy)
	}
	a, b, found := bytes.Cut(header[open:], []byte(","))
	if !found {
		return 0, 0, 0, syntaxError(line, len(header), "the second length is missing", eventRemedy)
	}
	title, err := eventLength(line, a, open)
	if err != nil {
		return 0, 0, 0, err
	}
	if title == 0 {
		return 0, 0, 0, syntaxError(line, open, "the title is empty", "give the event a title")
	}
	text, err = eventLength(line, b, open+len(a)+1)
	return title, text, len(header) + len("}:"), err
}

func eventLength(line, digits []byte, offset int) (int, error) {
	n, err := strconv.Atoi(string(digits))
	if err != nil || n < 0 {
		return 0, syntaxError(line, offset, quote(digits)+" is not a length", eventRemedy)
	}
	if n > len(line) {
		return 0,
			syntaxError(line, offset, "length "+strconv.Itoa(n)+" is more than the whole line",
				"count the bytes of title and text")
	}
	return n, nil
}

func unescape(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), `\n`, "\n")
}

func (p *Parser) eventFields(e *Event, line []byte, end int) {
	p.resetTags()
	host, hostSet := "", false
	if end < len(line) {
		c := fields(line, end+1)
		for c.next() {
			if v, ok := c.after("h:"); ok {
				host, hostSet = p.interner.String(v), true
			} else if warning := p.eventField(e, &c); warning != nil {
				e.Warnings = append(e.Warnings, warning)
			}
		}
	}
	e.Tags = slices.Clone(p.takeInternal(&e.Source))
	if hostSet {
		e.Source.Host, e.Source.HostSet = host, true
	}
}

func (p *Parser) eventField(e *Event, c *cursor) *SyntaxError {
	if v, ok := c.after("d:"); ok {
		return readSeconds(c, v, &e.Timestamp)
	} else if v, ok := c.after("k:"); ok {
		e.Key = p.interner.String(v)
	} else if v, ok := c.after("s:"); ok {
		e.SourceType = p.interner.String(v)
	} else if v, ok := c.after("p:"); ok {
		return readWord(c, v, &e.Priority, "normal", "low")
	} else if v, ok := c.after("t:"); ok {
		return readWord(c, v, &e.Alert, "error", "warning", "info", "success")
	} else {
		e.Warnings = p.common(c, &e.Source, e.Warnings)
	}
	return nil
}

func readSeconds(c *cursor, digits []byte, to *int64) *SyntaxError {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return c.fail(c.start+2, "timestamp "+quote(digits)+" is not a whole number", "write Unix seconds")
	}
	*to = n
	return nil
}

func readWord(c *cursor, word []byte, to *string, known ...string) *SyntaxError {
	i := slices.Index(known, string(word))
	if i < 0 {
		return c.fail(c.start+2, quote(word)+" is unknown", "known are "+strings.Join(known, ", "))
	}
	*to = known[i]
	return nil
}
