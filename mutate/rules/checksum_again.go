package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// checksumAgain (part of catalogue H1) matches a call of a helper that combines a sum with the sum
// of some data, by the data's length. It writes a helper that reads short data again, because the
// arithmetic costs more than a second look at the data.
var checksumAgain = &mutate.Mutator{
	Name: "checksum-again",
	Doc: "Continue a checksum over the data itself instead of combining it with the data's own checksum by " +
		"arithmetic. The standard library sums many bytes in a nanosecond; the arithmetic takes as long as a " +
		"kilobyte or more. That the helper combines two sums is a guess from what it is handed, which the " +
		"verification decides.",
	Example: mutate.Shows(`sum := crc32.ChecksumIEEE(block)
total := combine(running, sum, len(block))`,
		`sum := crc32.ChecksumIEEE(block)
total := combineAgain(running, sum, block)

func combineAgain(first, second uint32, data []byte) uint32 {
	if len(data) < 2048 {
		return crc32.Update(first, crc32.IEEETable, data)
	}
	return combine(first, second, len(data))
}`),
	Class:   beagle.E4,
	Gain:    4,
	Find:    findChecksumAgain,
	Params:  againParams,
	Rewrite: rewriteChecksumAgain,
}

// An againSite is a call of a helper with a sum, the sum of data, and the data's length, in any
// order.
type againSite struct {
	call                  *ast.CallExpr
	first, second, length ast.Expr
	data                  *types.Var
	pkg, table            string // the names of crc32, and of the polynomial's table
}

// findChecksumAgain looks for calls that combine two checksums by the length of the second one's
// data. That the result is the checksum of both in a row is a guess, which verification decides.
func findChecksumAgain(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		fn := p.Decl(p.Callee(call))
		// A call within the function itself is its recursion.
		if fn == nil || fn == p.FuncOf(call) || p.FuncOf(call) == nil || len(call.Args) != 3 ||
			!isBasic(p, call, types.Uint32) {
			continue
		}
		// Both must be numbers alone, so that nothing but the length stands for the data.
		if !onNumbers(p, fn) || isAgain(p, call) {
			continue
		}
		s := &againSite{call: call}
		if s.read(p) {
			sites = append(sites, mutate.Site{Node: call, Label: p.Text(call), Data: s})
		}
	}
	return sites
}

// onNumbers reports whether a function takes only numbers, and touches no package variable that
// could change. It writes only its own memory.
func onNumbers(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, v := range parameters(p, fn) {
		if v == nil || plainKind(v.Type())&types.IsNumeric == 0 {
			return false
		}
	}
	return fn.Recv == nil && fn.Body != nil && keepsToItself(p, fn, map[*ast.FuncDecl]bool{})
}

// keepsToItself reports whether a function uses no package variable that could change and starts
// nothing else. Its calls must lead to functions of the candidate like it, or to others without
// effects.
func keepsToItself(p *mutate.Pass, fn *ast.FuncDecl, seen map[*ast.FuncDecl]bool) bool {
	if seen[fn] {
		return true
	}
	seen[fn] = true
	own := true
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		// A variable of the package is shared memory, unless it never changes.
		case *ast.Ident:
			if v := p.Var(n); v != nil && p.IsGlobal(v) && !p.Frozen(v) {
				own = false
			}
		case *ast.CallExpr:
			callee := p.Callee(n)
			// Conversions and built-in functions touch what their operands do.
			switch d := p.Decl(callee); {
			case d != nil && d.Body != nil:
				own = own && keepsToItself(p, d, seen)
			case p.Info.Types[n.Fun].IsType(), callee != nil && callee.Pkg() == nil:
			default:
				own = own && !p.Effects(n).Writes
			}
		// These share memory or let another goroutine run.
		case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt, *ast.FuncLit:
			own = false
		}
		return own
	})
	return own
}

// isAgain reports whether the call is the slow path of a helper that this rule wrote: its function
// already continues a sum.
func isAgain(p *mutate.Pass, call *ast.CallExpr) bool {
	for other := range mutate.Nodes[*ast.CallExpr](p, p.FuncOf(call)) {
		if _, ok := p.IsCall(other, "hash/crc32", "Update"); ok {
			return true
		}
	}
	return false
}

// read tells the three arguments apart.
func (s *againSite) read(p *mutate.Pass) bool {
	// One argument is the length of the data, perhaps converted.
	for _, arg := range s.call.Args {
		e := ast.Unparen(arg)
		if conv, ok := e.(*ast.CallExpr); ok && p.Info.Types[conv.Fun].IsType() {
			e = conv.Args[0]
		}
		if v := p.LenOf(e); v != nil && s.length == nil {
			s.length, s.data = arg, v
		}
	}
	// Nobody may change the data between the checksum and the call.
	fn := p.FuncOf(s.call)
	if s.data == nil || !isBytesSlice(s.data.Type()) || !facts.IsLocal(p, s.data) || p.Assigned(s.data, fn) ||
		facts.Captured.Of(p)[s.data] {
		return false
	}
	// Of the two others, the one that is the checksum of the data is the second sum.
	for _, arg := range s.call.Args {
		switch {
		case arg == s.length:
		case s.second == nil && s.sums(p, arg):
			s.second = arg
		default:
			s.first = arg
		}
	}
	return s.first != nil && s.second != nil && isBasic(p, s.first, types.Uint32) &&
		isBasic(p, s.second, types.Uint32) && p.Pure(s.first)
}

func isBytesSlice(t types.Type) bool { return isSlice(t) && mutate.IsBytes(t) }

// sums reports whether an argument is the checksum of the data, or a variable that always holds it,
// and notes how.
func (s *againSite) sums(p *mutate.Pass, e ast.Expr) bool {
	// Look through a variable that keeps its definition.
	if v := p.Var(e); v != nil && facts.IsLocal(p, v) && !p.Assigned(v, p.FuncOf(e)) && !facts.Captured.Of(p)[v] {
		for list, i := range statements(p) {
			if d, ok := facts.Declares(p, list[i]); ok && d.Var == v && d.Value != nil {
				e = d.Value
			}
		}
	}
	// The table must be one that the new function can name.
	if call, ok := p.IsCall(e, "hash/crc32", "ChecksumIEEE"); ok && p.Var(call.Args[0]) == s.data {
		s.pkg = p.Text(call.Fun.(*ast.SelectorExpr).X)
		s.table = s.pkg + ".IEEETable"
		return true
	}
	if call, ok := p.IsCall(e, "hash/crc32", "Checksum"); ok && p.Var(call.Args[0]) == s.data &&
		packageLevel(p, call.Args[1]) && p.Pure(call.Args[1]) {
		s.pkg, s.table = p.Text(call.Fun.(*ast.SelectorExpr).X), p.Text(call.Args[1])
		return true
	}
	return false
}

// An againBelow says for which lengths to read the data again: always, or below the cost of the
// arithmetic. Tables make the arithmetic cheaper too.
type againBelow struct {
	length int // 0: always
	tables bool
}

// againParams offers tables for the library's own polynomial only. A table of the candidate may
// still be empty when the new tables are filled.
func againParams(_ *mutate.Pass, site mutate.Site) []mutate.Param {
	var tables []mutate.Param
	if site.Data.(*againSite).table == "crc32.IEEETable" {
		tables = []mutate.Param{{Label: "tables", Value: againBelow{2048, true}}}
	}
	return append(tables, []mutate.Param{
		{Label: "always", Value: againBelow{}},
		{Label: "below 2048", Value: againBelow{length: 2048}},
		{Label: "below 512", Value: againBelow{length: 512}},
		{Label: "below 8192", Value: againBelow{length: 8192}},
	}...)
}

// rewriteChecksumAgain reads the data again with the first sum as the start, up to a length. Beyond
// it the combination by arithmetic is faster.
func rewriteChecksumAgain(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s, below := site.Data.(*againSite), param.Value.(againBelow)
	// Without a limit the data is always read again.
	if below.length == 0 {
		return []mutate.Edit{
			p.Replace(s.call, fmt.Sprintf("%s.Update(%s, %s, %s)", s.pkg, p.Text(s.first), s.table, s.data.Name())),
		}, nil
	}
	combine := p.Text(s.call.Fun)
	name := p.Fresh(combine+"Again", combine+"OrRead")
	first, second, data := p.Fresh("first", "firstSum"), p.Fresh("second", "secondSum"), p.Fresh("data", "summed")
	edits := []mutate.Edit{
		p.Replace(s.call, fmt.Sprintf("%s(%s, %s, %s)", name, p.Text(s.first), p.Text(s.second), s.data.Name())),
	}
	slow := combine + "(" + s.slowArgs(p, first, second, data) + ")"
	// Beyond the limit, the sum is shifted by the length. The tables do so a byte of the length at
	// a time; the original function does it bit by bit.
	if below.tables {
		shift, zeros := p.Fresh("shiftSum", "sumBefore"), p.Fresh("zeroBytes", "zeroEffect")
		slow = fmt.Sprintf("%s(%s, uint(len(%s))) ^ %s", shift, first, data, second)
		text := strings.NewReplacer("<shift>", shift, "<zeros>", zeros, "<table>", s.table)
		edits = append(edits, p.Declare(s.call, text.Replace(shiftTables)))
	}
	text := strings.NewReplacer("<again>", name, "<combine>", combine, "<first>", first, "<second>", second,
		"<data>", data,
		"<length>", strconv.Itoa(below.length), "<pkg>", s.pkg, "<table>", s.table, "<slow>", slow)
	return append(edits, p.Declare(s.call, text.Replace(readAgain))), nil
}

const readAgain = `// <again> is <combine> for the checksum of <data>. Reading short data again costs
// less than the arithmetic.
func <again>(<first>, <second> uint32, <data> []byte) uint32 {
	if len(<data>) < <length> {
		return <pkg>.Update(<first>, <table>, <data>)
	}
	return <slow>
}`

// slowArgs returns the arguments of the call, with its two sums and the data as parameters.
func (s *againSite) slowArgs(p *mutate.Pass, first, second, data string) string {
	slow := map[ast.Expr]string{s.first: first, s.second: second}
	var args []string
	for _, arg := range s.call.Args {
		text, ok := slow[arg]
		if !ok {
			text = p.TextWith(arg, func(n ast.Node) (string, bool) {
				id, ok := n.(*ast.Ident)
				return data, ok && p.Info.Uses[id] == s.data
			})
		}
		args = append(args, text)
	}
	return strings.Join(args, ", ")
}

// shiftTables moves a checksum past zero bytes. That is linear in the checksum's bits, so a table
// for each nibble holds the effect of a power of two of zero bytes.
const shiftTables = `// <shift> returns the checksum of a text with n more bytes, which are zero, behind it, but for
// what the inversions at the ends do.
func <shift>(sum uint32, n uint) uint32 {
	for k := 0; n != 0; k++ {
		if n&1 == 1 {
			t := &<zeros>[k&63]
			sum = t[0][sum&15] ^ t[1][sum>>4&15] ^ t[2][sum>>8&15] ^ t[3][sum>>12&15] ^
				t[4][sum>>16&15] ^ t[5][sum>>20&15] ^ t[6][sum>>24&15] ^ t[7][sum>>28]
		}
		n >>= 1
	}
	return sum
}

// <zeros> holds what 1, 2, 4, ... zero bytes make of each nibble of a checksum.
var <zeros> = func() (t [64][8][16]uint32) {
	for k := range t {
		for i := range t[k] {
			for v := range t[k][i] {
				sum := uint32(v) << (4 * i)
				if k == 0 {
					t[k][i][v] = <table>[byte(sum)] ^ sum>>8
					continue
				}
				for range 2 {
					half := &t[k-1]
					sum = half[0][sum&15] ^ half[1][sum>>4&15] ^ half[2][sum>>8&15] ^ half[3][sum>>12&15] ^
						half[4][sum>>16&15] ^ half[5][sum>>20&15] ^ half[6][sum>>24&15] ^ half[7][sum>>28]
				}
				t[k][i][v] = sum
			}
		}
	}
	return t
}()`
