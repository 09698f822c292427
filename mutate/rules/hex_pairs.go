package rules

import (
	"fmt"
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// hexPairs (catalogue N3) matches encoding/hex at work on bytes. It looks up both digits of a byte at
// once.
var hexPairs = &mutate.Mutator{
	Name: "hex-pairs",
	Doc: "Write hexadecimal digits from a table of pairs, two bytes at a time, instead of one digit after the other. " +
		"The helper is short enough to be inlined. Exact unless the destination is too short, where both panic, " +
		"after more or fewer digits.",
	Before: `hex.Encode(dst, id[:])`,
	After: `encodeHex(dst, id[:])

func encodeHex(dst, src []byte) {
	for len(src) >= 2 {
		binary.LittleEndian.PutUint32(dst, uint32(hexDigits[src[0]])|uint32(hexDigits[src[1]])<<16)
		dst, src = dst[4:], src[2:]
	}
	if len(src) > 0 {
		binary.LittleEndian.PutUint16(dst, hexDigits[src[0]])
	}
}`,
	Class:   beagle.E1,
	Gain:    1.3,
	Find:    findHexPairs,
	Rewrite: rewriteHexPairs,
}

func findHexPairs(p *mutate.Pass) []mutate.Site {
	var calls []*ast.CallExpr
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if p.FuncOf(call) == nil || !hot(p, call) {
			continue
		}
		if _, text := p.IsCall(call, "encoding/hex", "EncodeToString"); text {
			calls = append(calls, call)
			continue
		}
		_, encodes := p.IsCall(call, "encoding/hex", "Encode")
		if _, alone := p.Parent(call).(*ast.ExprStmt); encodes && alone {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return []mutate.Site{{Node: calls[0], Label: "hexadecimal digits", Data: calls}}
}

func rewriteHexPairs(p *mutate.Pass, at mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	calls := at.Data.([]*ast.CallExpr)
	encode, digits := p.Fresh("encodeHex", "hexEncode"), p.Fresh("hexDigits", "hexPairs")
	text := p.Fresh("hexText", "textOfHex")
	decl := fmt.Sprintf(`// %[1]s is hex.Encode, two bytes at a time.
func %[1]s(dst, src []byte) {
	for len(src) >= 2 {
		binary.LittleEndian.PutUint32(dst, uint32(%[2]s[src[0]])|uint32(%[2]s[src[1]])<<16)
		dst, src = dst[4:], src[2:]
	}
	if len(src) > 0 {
		binary.LittleEndian.PutUint16(dst, %[2]s[src[0]])
	}
}

// %[2]s are both hexadecimal digits of each byte.
var %[2]s = func() (t [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return t
}()`, encode, digits)
	var edits []mutate.Edit
	texts := false
	for _, call := range calls {
		if _, whole := p.IsCall(call, "encoding/hex", "EncodeToString"); whole {
			texts = true
			edits = append(edits, p.Replace(call.Fun, text))
			continue
		}
		edits = append(edits, p.Replace(call.Fun, encode))
	}
	if texts {
		decl += fmt.Sprintf(`

// %[1]s is hex.EncodeToString, with its digits on the stack where they are few.
func %[1]s(src []byte) string {
	var room [64]byte
	dst := room[:]
	if 2*len(src) > len(dst) {
		dst = make([]byte, 2*len(src))
	}
	%[2]s(dst, src)
	return string(dst[:2*len(src)])
}`, text, encode)
	}
	return withImports(p, append(edits, p.Declare(p.FuncOf(calls[0]), decl)), "encoding/binary"), nil
}
