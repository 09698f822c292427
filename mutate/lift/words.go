package lift

import (
	"go/ast"
	"go/constant"
	gotypes "go/types"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle/mutate"
)

// constants are the constants in the code: they shape the inputs, and are terms.
type constants struct {
	strings []string
	bytes   []byte
	ints    []int64
	floats  []float64
}

const maxWords = 12 // constants of one kind

// wordsOf collects the constants in a piece of code. Bytes that stand beside each
// other are joined to a string too: code that compares byte by byte spells words
// in this way.
func wordsOf(p *mutate.Pass, root ast.Node) constants {
	var c constants
	run := ""
	// flush ends a run of characters that stand side by side.
	flush := func() {
		if len(run) > 1 {
			c.addString(run)
		}
		run = ""
	}
	ast.Inspect(root, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		tv := p.Info.Types[e]
		// Only constant expressions are of interest, and the outermost of them: its value is what
		// the code means.
		if tv.Value == nil {
			return true
		}
		switch tv.Value.Kind() {
		case constant.String:
			c.addString(constant.StringVal(tv.Value))
		case constant.Float:
			f, _ := constant.Float64Val(tv.Value)
			c.addFloat(f)
		case constant.Int:
			v, exact := constant.Int64Val(tv.Value)
			if u, ok := constant.Uint64Val(tv.Value); !exact && ok {
				v, exact = int64(u), true
			}
			if !exact {
				break
			}
			// Small numbers are more likely counts than control characters.
			switch b, _ := tv.Type.Underlying().(*gotypes.Basic); {
			case b != nil &&
				(b.Kind() == gotypes.Uint8 || b.Kind() == gotypes.Int32 || b.Kind() == gotypes.UntypedRune) &&
				v >= 0 && v <= 0x10ffff && !(v < 9):
				c.addRune(rune(v))
				run += string(rune(v))
			default:
				c.addInt(v)
			}
		}
		return false
	})
	flush()
	return c
}

func (c *constants) addString(s string) {
	if len(s) > 64 || slices.Contains(c.strings, s) || len(c.strings) >= maxWords {
		return
	}
	c.strings = append(c.strings, s)
	for i := range min(len(s), 8) {
		c.addByte(s[i])
	}
}

func (c *constants) addByte(b byte) {
	if !slices.Contains(c.bytes, b) && len(c.bytes) < 2*maxWords {
		c.bytes = append(c.bytes, b)
	}
}

func (c *constants) addRune(r rune) {
	c.addString(string(r))
	if r < 0x80 {
		c.addByte(byte(r))
	}
	c.addInt(int64(r))
}

func (c *constants) addInt(v int64) {
	if !slices.Contains(c.ints, v) && len(c.ints) < maxWords {
		c.ints = append(c.ints, v)
	}
}

func (c *constants) addFloat(v float64) {
	if !slices.Contains(c.floats, v) && len(c.floats) < maxWords {
		c.floats = append(c.floats, v)
	}
}

// leaves returns the inputs of a region, the constants of its code in each type that they may be
// of, and the few that any code may need.
func (c *constants) leaves(inputs []Input, outputs []Output) []leaf {
	var out []leaf
	in := map[string]bool{"int": true}
	// A type brings those close to it into the grammar of this region.
	note := func(t *Type) {
		in[t.Name] = true
		for _, name := range companions[t.Name] {
			in[name] = true
		}
	}
	for i, v := range inputs {
		out = append(out, leaf{typ: v.Type, input: i})
		note(v.Type)
	}
	for _, o := range outputs {
		note(o.Type)
	}
	// A constant is added in each type that plays a part, and once.
	add := func(name, text string, v any) {
		l := leaf{typ: types[name], input: -1, text: text, value: v}
		if in[name] && !slices.ContainsFunc(out, func(k leaf) bool { return k.typ == l.typ && k.text == l.text }) {
			out = append(out, l)
		}
	}
	// A constant text may be needed as bytes. Single bytes are too many in code with large tables.
	for _, s := range c.strings {
		add("string", strconv.Quote(s), s)
		if in["[]byte"] && !in["string"] {
			add("[]byte", "[]byte("+strconv.Quote(s)+")", []byte(s))
		}
	}
	for _, b := range c.bytes {
		if len(c.bytes) <= maxWords {
			add("byte", quoteByte(b), b)
		}
	}
	// 0, 1, the empty text and the like may be needed by any code.
	for _, n := range append(slices.Clone(c.ints), 0, 1) {
		addNumber(add, n)
	}
	for _, f := range append(slices.Clone(c.floats), 0) {
		add("float64", strconv.FormatFloat(f, 'g', -1, 64), f)
	}
	add("string", `""`, "")
	add("bool", "true", true)
	add("bool", "false", false)
	add("int", "-1", -1)
	return out
}

func quoteByte(b byte) string {
	if b < 0x80 {
		return strconv.QuoteRune(rune(b))
	}
	return strconv.Itoa(int(b))
}

// addNumber adds a number in every type of which it is a value.
func addNumber(add func(name, text string, v any), n int64) {
	text := strconv.FormatInt(n, 10)
	add("int", text, int(n))
	add("int64", text, n)
	// A large negative number is what a constant of 64 bits looks like as an int64.
	if n >= 0 || n < -1<<40 {
		add("uint64", strconv.FormatUint(uint64(n), 10), uint64(n))
	}
	if n >= 0 {
		add("uint", text, uint(n))
	}
	if n >= 0 && n < 1<<32 {
		add("uint32", text, uint32(n))
	}
	if n >= 0 && n < 1<<16 {
		add("uint16", text, uint16(n))
	}
	if n >= 0 && n < 1<<8 {
		add("byte", text, byte(n))
	}
	if n >= 0 && n <= 0x10ffff {
		add("rune", text, rune(n))
	}
}
