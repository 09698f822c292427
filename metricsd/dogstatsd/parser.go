package dogstatsd

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// MinRate is the smallest sample rate that is taken.
const MinRate = 1e-9

// Parser reads lines. It keeps its buffers from line to line.
type Parser struct {
	interner *Interner
	values   []float64
	tags     []string
	hashes   []uint64 // of tags
	internal bool     // whether one of tags is
}

// NewParser makes a parser whose interner keeps about size strings;
// 0 stands for [DefaultStrings]. The seed is for the tags' hashes.
func NewParser(size int, seed uint64) *Parser {
	if size <= 0 {
		size = DefaultStrings
	}
	return &Parser{interner: NewInterner(size, seed)}
}

// Interner returns the parser's interner, for its counters.
func (p *Parser) Interner() *Interner { return p.interner }

// TagHashes returns the hashes of the tags of the metric that was read last, with the parser's
// seed. They hold until the next call.
func (p *Parser) TagHashes() []uint64 { return p.hashes }

// Metric reads a metric line into m. The error is always a *SyntaxError.
func (p *Parser) Metric(line []byte, m *Metric) error {
	*m = Metric{Rate: 1}
	c := fields(line, 0)
	c.next()
	name, value, err := splitName(&c)
	if err != nil {
		return err
	}
	if m.Type, err = readType(&c); err != nil {
		return err
	}
	m.Name = p.interner.String(name)
	if err := p.readValue(m, line, value, len(name)+1); err != nil {
		return err
	}
	return p.readFields(m, &c)
}

func splitName(c *cursor) (name, value []byte, _ error) {
	name, value, found := bytes.Cut(c.field(), []byte(":"))
	switch {
	case !found:
		return nil, nil, c.fail(0, "no colon after the name", "write name:value|type")
	case len(name) == 0:
		return nil, nil, c.fail(0, "the name is empty", "write name:value|type")
	case len(value) == 0:
		return nil, nil, c.fail(len(name)+1, "the value is empty", "write name:value|type")
	}
	return name, value, nil
}

func readType(c *cursor) (Type, error) {
	if !c.next() {
		return TypeInvalid, c.fail(len(c.line), "no type", "add |c, |g, |s, |ms, |h or |d")
	}
	switch string(c.field()) {
	case "c":
		return Count, nil
	case "g":
		return Gauge, nil
	case "s":
		return Set, nil
	case "ms":
		return Timing, nil
	case "h":
		return Histogram, nil
	case "d":
		return Distribution, nil
	}
	return TypeInvalid, c.fail(c.start, "type "+quote(c.field())+" is unknown", "types are c, g, s, ms, h and d")
}

// readValue reads what stands between the name and the type. It comes after the
// type because only a set's value is not a list of numbers.
func (p *Parser) readValue(m *Metric, line, value []byte, offset int) error {
	if m.Type == Set {
		// Not interned: sets hold ids, which would push names and tags out.
		m.SetValue = strings.ToValidUTF8(string(value), "\uFFFD")
		return nil
	}
	var at int
	var problem string
	p.values, at, problem = appendValues(p.values[:0], value)
	switch {
	case problem != "":
		return syntaxError(line, offset+at, problem,
			"values are finite decimal numbers, several are joined with colons")
	case len(p.values) == 0:
		return syntaxError(line, offset, "no value between the colons", "write name:value|type")
	}
	m.Values = p.values
	return nil
}

// appendValues reads a list of numbers. at and problem say which number is wrong, and how.
func appendValues(to []float64, list []byte) (values []float64, at int, problem string) {
	for len(list) > 0 {
		item, rest, _ := bytes.Cut(list, []byte(":"))
		if len(item) > 0 {
			v, problem := readFloat(item)
			if problem != "" {
				return to, at, problem
			}
			to = append(to, v)
		}
		at += len(item) + 1
		list = rest
	}
	return to, at, ""
}

// readFloat returns the number or, in words, what is wrong with it.
func readFloat(b []byte) (v float64, problem string) {
	v, err := strconv.ParseFloat(string(b), 64)
	switch {
	case err != nil:
		return 0, quote(b) + " is not a number"
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, quote(b) + " is not finite"
	}
	return v, ""
}

func (p *Parser) readFields(m *Metric, c *cursor) error {
	p.resetTags()
	for c.next() {
		if v, ok := c.after("@"); ok {
			rate, problem := readRate(v)
			if problem != "" {
				return c.fail(c.start+1, problem, "a rate is a number from 1e-9 to 1")
			}
			m.Rate = rate
		} else if v, ok := c.after("T"); ok {
			ts, err := strconv.ParseInt(string(v), 10, 64)
			if err != nil || ts < 1 {
				return c.fail(c.start+1, "timestamp "+quote(v)+" is not a positive whole number", "write Unix seconds")
			}
			m.Timestamp = ts
		} else {
			m.Warnings = p.common(c, &m.Source, m.Warnings)
		}
	}
	m.Tags = p.takeInternal(&m.Source)
	return nil
}

func readRate(b []byte) (rate float64, problem string) {
	rate, problem = readFloat(b)
	if problem == "" && (rate < MinRate || rate > 1) {
		problem = "rate " + quote(b) + " is out of range"
	}
	return rate, problem
}

// quote shows bytes in a message of bounded length.
func quote(b []byte) string {
	const longest = 32
	if len(b) > longest {
		return strconv.Quote(string(b[:longest])) + "..."
	}
	return strconv.Quote(string(b))
}
