package hashing

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// checksumStd (catalogue H1) and checksumSlicing (H3) match the same loop: a reflected CRC that
// looks each byte up in a table of 256 entries. checksumStd calls hash/crc32 or hash/crc64 if the
// table is one of theirs. checksumSlicing reads 4, 8 or 16 bytes an iteration with as many tables.
var checksumStd = &mutate.Mutator{
	Name: "checksum-std",
	Doc: "Call hash/crc32 or hash/crc64 for a checksum loop over their tables. For the IEEE and Castagnoli " +
		"polynomials the library uses the processor's carry-less multiplication. The table is recognised entry by " +
		"entry, by evaluating how it is filled.",
	Example: mutate.Shows(`for _, b := range data {
	crc = table[byte(crc)^b] ^ crc>>8
}`,
		`crc = ^crc32.Update(^crc, crc32.IEEETable, data)`),
	Class:   beagle.E4,
	Gain:    20,
	Find:    findChecksumStd,
	Rewrite: rewriteChecksumStd,
}

var checksumSlicing = &mutate.Mutator{
	Name: "checksum-slicing",
	Doc: "Advance a table-driven checksum by 4, 8 or 16 bytes at once with as many tables, each a byte further on " +
		"(slicing-by-N). Legal because the table is linear over exclusive or, which is checked for all its entries.",
	Example: mutate.Shows(`for _, b := range data {
	crc = table[byte(crc)^b] ^ crc>>8
}`,
		`rest := data
for len(rest) >= 8 {
	crc ^= binary.LittleEndian.Uint32(rest)
	crc = slicing[7][byte(crc)] ^ slicing[6][byte(crc>>8)] ^ ... ^ slicing[0][rest[7]]
	rest = rest[8:]
}
for _, b := range rest {
	crc = table[byte(crc)^b] ^ crc>>8
}`),
	Class: beagle.E4,
	Gain:  4,
	Find:  func(p *mutate.Pass) []mutate.Site { return checksumSites(p, isLinear) },
	Params: func(*mutate.Pass, mutate.Site) []mutate.Param {
		return []mutate.Param{{Label: "8", Value: 8}, {Label: "16", Value: 16}, {Label: "4", Value: 4}}
	},
	Rewrite: rewriteSlicing,
}

// A checksum is crc = table[byte(crc)^s[i]] ^ crc>>8 in a loop over s.
type checksum struct {
	loop  *mutate.ElementLoop
	crc   *types.Var
	table *types.Var
	bits  int
	vals  []uint64
}

func checksumSites(p *mutate.Pass, ok func(*checksum) bool) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		if c := checksumOf(p, s); c != nil && ok(c) && !facts.UnrolledBefore(p, c.loop) {
			sites = append(sites, mutate.Site{Node: s, Label: "checksum of " + c.loop.Seq.Name(), Data: c})
		}
	}
	return sites
}

// checksumOf recognises a loop over the bytes of a slice whose only statement is the step of a
// reflected checksum by table.
func checksumOf(p *mutate.Pass, s ast.Stmt) *checksum {
	// The loop must visit every byte from the first on, and the new code needs room for its
	// declarations.
	l, ok := p.Elements(s)
	if !ok || !l.Plain || l.Start != 0 || !facts.CanDeclare(p, s) || facts.IsLabelled(p, s) {
		return nil
	}
	seq, ok := l.Seq.Type().Underlying().(*types.Slice)
	if !ok || !types.Identical(seq.Elem(), types.Typ[types.Uint8]) {
		return nil
	}
	// A copy of the element, b := data[i], is only another name for it.
	list := l.Body.List
	if facts.CopyOfElement(p, l) != nil {
		list = list[1:]
	}
	if len(list) != 1 {
		return nil
	}
	as, ok := list[0].(*ast.AssignStmt)
	if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 {
		return nil
	}
	// The state is a local variable of 32 or 64 bits: a global one would be written less often than
	// before.
	c := &checksum{loop: l, crc: p.Var(as.Lhs[0])}
	if c.crc == nil || p.IsGlobal(c.crc) {
		return nil
	}
	switch p.Basic(as.Lhs[0]) {
	case types.Uint32:
		c.bits = 32
	case types.Uint64:
		c.bits = 64
	default:
		return nil
	}
	// The step must have the one form whose algebra the rewrites rely on, and its table must be
	// known.
	if !c.step(p, as.Rhs[0]) || !c.readTable(p) {
		return nil
	}
	return c
}

// step recognises table[byte(crc)^b] ^ crc>>8 in its spellings.
func (c *checksum) step(p *mutate.Pass, e ast.Expr) bool {
	// Two terms are combined by xor, in either order: the look-up and the shifted state.
	terms := syntax.Operands(e, token.XOR)
	if len(terms) != 2 {
		return false
	}
	look, shifted := ast.Unparen(terms[0]), ast.Unparen(terms[1])
	if _, ok := look.(*ast.IndexExpr); !ok {
		look, shifted = shifted, look
	}
	// The state goes down by one byte, the one that the look-up takes in.
	sh, ok := shifted.(*ast.BinaryExpr)
	if !ok || sh.Op != token.SHR || p.Var(sh.X) != c.crc || !p.IsInt(sh.Y, 8) {
		return false
	}
	ix, ok := look.(*ast.IndexExpr)
	if !ok {
		return false
	}
	c.table = p.Var(ix.X)
	return c.table != nil && c.index(p, ix.Index)
}

// index recognises byte(crc)^b, byte(crc^uint32(b)) and (crc^uint32(b))&0xff.
func (c *checksum) index(p *mutate.Pass, e ast.Expr) bool {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.AND && p.IsInt(b.Y, 0xff) {
		return c.mixed(p, b.X)
	}
	if conv, ok := e.(*ast.CallExpr); ok && len(conv.Args) == 1 && p.Basic(conv) == types.Uint8 {
		return c.mixed(p, conv.Args[0])
	}
	return p.Basic(e) == types.Uint8 && c.mixed(p, e)
}

// mixed recognises crc ^ b, in either order and perhaps converted.
func (c *checksum) mixed(p *mutate.Pass, e ast.Expr) bool {
	terms := syntax.Operands(e, token.XOR)
	if len(terms) != 2 {
		return false
	}
	x, y := c.unconverted(p, terms[0]), c.unconverted(p, terms[1])
	// Exclusive or has no order.
	if p.Var(x) != c.crc {
		x, y = y, x
	}
	if p.Var(x) != c.crc {
		return false
	}
	if ix, ok := ast.Unparen(y).(*ast.IndexExpr); ok {
		return slices.Contains(c.loop.Elems, ix)
	}
	v := p.Var(y)
	return v != nil && (v == c.loop.Value || v == facts.CopyOfElement(p, c.loop))
}

func (c *checksum) unconverted(p *mutate.Pass, e ast.Expr) ast.Expr {
	if conv, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(conv.Args) == 1 && p.Info.Types[conv.Fun].IsType() {
		return conv.Args[0]
	}
	return e
}

// readTable evaluates the table.
func (c *checksum) readTable(p *mutate.Pass) bool {
	v, err := p.Values().EvalGlobal(c.table)
	// A table of the package itself is evaluated rather than recognised by its name.
	list, ok := v.([]mutate.Value)
	if err != nil || !ok || len(list) != 256 {
		return false
	}
	for _, e := range list {
		u, ok := e.(uint64)
		if !ok {
			return false
		}
		c.vals = append(c.vals, u)
	}
	return true
}

// isLinear reports whether t[a^b] == t[a]^t[b] for all a and b. In that case a byte's share of the
// checksum does not depend on its neighbours.
func isLinear(c *checksum) bool {
	for a := range 256 {
		rest := uint64(0)
		// The value of a byte must be that of its bits together.
		for bit := 1; bit < 256; bit <<= 1 {
			if a&bit != 0 {
				rest ^= c.vals[bit]
			}
		}
		if rest != c.vals[a] {
			return false
		}
	}
	return true
}

// reflectedTable builds the table of a reflected polynomial.
func reflectedTable(poly uint64) (t [256]uint64) {
	for i := range t {
		c := uint64(i)
		// Eight shifts, one for each bit of the index, each with the polynomial where a bit falls
		// out.
		for range 8 {
			if c&1 == 1 {
				c = c>>1 ^ poly
			} else {
				c >>= 1
			}
		}
		t[i] = c
	}
	return t
}

// knownTables lists the library's tables with a fast Update.
var knownTables = []struct {
	bits int
	poly uint64
	pkg  string
	expr string // the table's expression, where P is the package
	name string // the name of a variable for it, or "" if expr is one already
}{
	{32, 0xedb88320, "hash/crc32", "P.IEEETable", ""},
	{32, 0x82f63b78, "hash/crc32", "P.MakeTable(P.Castagnoli)", "castagnoli"},
	{64, 0xd800000000000000, "hash/crc64", "P.MakeTable(P.ISO)", "crc64ISO"},
	{64, 0xc96c5795d7870f42, "hash/crc64", "P.MakeTable(P.ECMA)", "crc64ECMA"},
}

func findChecksumStd(p *mutate.Pass) []mutate.Site {
	return checksumSites(p, func(c *checksum) bool { return knownTable(c) >= 0 })
}

func knownTable(c *checksum) int {
	for i, k := range knownTables {
		t := reflectedTable(k.poly)
		if k.bits == c.bits && fmt.Sprint(t[:]) == fmt.Sprint(c.vals) {
			return i
		}
	}
	return -1
}

// rewriteChecksumStd calls the library in place of the loop. The library complements the state
// before and after, so the call is wrapped in two complements that cancel these.
func rewriteChecksumStd(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	c := s.Data.(*checksum)
	k := knownTables[knownTable(c)]
	pkg, edits := p.Import(k.pkg)
	table := strings.ReplaceAll(k.expr, "P.", pkg+".")
	// A table of the library is made once, in a variable; the IEEE table is there already.
	if k.name != "" {
		name := p.Fresh(k.name+"Table", k.name)
		edits = append(edits, p.Declare(s.Node, fmt.Sprintf("var %s = %s", name, table)))
		table = name
	}
	crc := c.crc.Name()
	text := fmt.Sprintf("%s.Update(^%s, %s, %s)", pkg, crc, table, c.loop.Seq.Name())
	// Update has a type of its own; a named type is converted there and back.
	if t := types.TypeString(c.crc.Type(), types.RelativeTo(p.Pkg)); t != fmt.Sprintf("uint%d", c.bits) {
		text = fmt.Sprintf("%s(%s.Update(^uint%d(%s), %s, %s))", t, pkg, c.bits, crc, table, c.loop.Seq.Name())
	}
	text = fmt.Sprintf("// Update complements before and after, this checksum does not.\n%s = ^%s", crc, text)
	return append(edits, p.Replace(s.Node, text)), nil
}

// rewriteSlicing handles n bytes at once with n tables, as slicing-by-8 does: table k says what a
// byte contributes when k more bytes follow it.
func rewriteSlicing(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	// The state lies over the first bytes, so a step takes at least as many bytes as the state has.
	c, n := s.Data.(*checksum), param.Value.(int)
	if word := c.bits / 8; n < word {
		return nil, fmt.Errorf("a checksum of %d bytes takes at least as many at once", word)
	}
	bin, edits := p.Import("encoding/binary")
	name := p.Fresh(fmt.Sprintf("slicing%d", n))
	rest, crc := p.Fresh("rest", "tail"), c.crc.Name()
	elem := types.TypeString(c.crc.Type(), types.RelativeTo(p.Pkg))
	// The first bytes are read from the state, which has been combined with the word of data; the
	// others come from the data. Byte i is followed by n-1-i bytes.
	var terms []string
	for i := range n {
		in := fmt.Sprintf("%s[%d]", rest, i)
		if i < c.bits/8 {
			in = fmt.Sprintf("byte(%s>>%d)", crc, 8*i)
			if i == 0 {
				in = fmt.Sprintf("byte(%s)", crc)
			}
		}
		terms = append(terms, fmt.Sprintf("%s[%d][%s]", name, n-1-i, in))
	}
	// Reflected checksums take the low byte first, which is the order of a little-endian load.
	load := fmt.Sprintf("%s.LittleEndian.Uint%d(%s)", bin, c.bits, rest)
	if elem != fmt.Sprintf("uint%d", c.bits) {
		load = elem + "(" + load + ")"
	}
	text := fmt.Sprintf("%s := %s\nfor len(%s) >= %d {\n%s ^= %s\n%s = %s\n%s = %s[%d:]\n}\n%s",
		rest, c.loop.Seq.Name(), rest, n, crc, load, crc, edit.JoinTests(terms, "^"), rest, rest, n,
		edit.RemainderLoop(p, c.loop, rest))
	table := fmt.Sprintf(`// %[1]s[k][b] is what byte b contributes when k more bytes follow it.
var %[1]s = func() (t [%[2]d][256]%[3]s) {
	for b := range t[0] {
		t[0][b] = %[4]s[b]
		for k := 1; k < len(t); k++ {
			t[k][b] = %[4]s[byte(t[k-1][b])] ^ t[k-1][b]>>8
		}
	}
	return t
}()`, name, n, elem, c.table.Name())
	// A table of one more byte follows from the previous one by a step over a zero byte.
	return append(edits, p.Replace(s.Node, text), p.Declare(s.Node, table)), nil
}
