//go:build linux

package uprobe

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// TestChoose: the chosen instruction is passed once, with the arguments in their registers.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name, code string
		registers  int
		want       string // its offset and text; "" when there is none
	}{
		// CMPQ SP,0x10(R14); JBE 8; PUSHQ BP; RET; NOP; CALL; JMP 0
		{"behind the stack check", "493b6610 7602 55c3 e800000000 ebf1", 2, "6 PUSHQ BP"},
		// PUSHQ BP; MOVQ SP,BP; POPQ BP; RET
		{"no stack check", "55 4889e5 5d c3", 2, "0 PUSHQ BP"},
		// XORL CX,CX; JMP +2; INCQ CX; CMPQ CX,BX; JLT -8; RET
		{"a leaf with a loop", "31c9 eb03 48ffc1 4839d9 7cf8 c3", 2, "2 JMP 0x1007"},
		// The same, but CX holds the third argument: only the first instruction will do.
		{"a leaf that overwrites an argument", "31c9 eb03 48ffc1 4839d9 7cf8 c3", 3, "0 XORL CX, CX"},
		// CMPQ CX,BX; JLT -5; RET: all but RET are in a loop that begins at the entry.
		{"a loop at the entry", "4839d9 7cfb c3", 2, ""},
		// PUSHQ BP, or XORL AX,AX; no instruction; RET
		{"unknown code behind the frame", "55 06 c3", 2, "0 PUSHQ BP"},
		{"unknown code without a frame", "31c0 06 c3", 2, ""},
		// TESTQ AX,AX; JNE 8; MOVL $1,AX; RET; at 11: RET
		{"a conditional jump", "4885c0 7506 b801000000 c3 c3", 1, "3 JNE 0x100b"},
		{"empty", "", 1, ""},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := choose(code, 0x1000, c.registers)
		got := ""
		if err == nil {
			got = strings.TrimSpace(string(rune('0'+p.Address-0x1000)) + " " + p.Text)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
	}
}

// FuzzChoose: any bytes are code.
func FuzzChoose(f *testing.F) {
	f.Add([]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 2, 0x55, 0xc3}, 3)
	f.Fuzz(func(t *testing.T, code []byte, registers int) {
		if registers < 0 || registers > intRegisters || len(code) > 1<<12 {
			return
		}
		p, _, err := choose(code, 0x1000, registers)
		if err == nil && (p.Address < 0x1000 || p.Address >= 0x1000+uint64(len(code))) {
			t.Fatalf("%+v is not within the code", p)
		}
	})
}

// FuzzReadEvent: any bytes are read without a panic.
func FuzzReadEvent(f *testing.F) {
	b := make([]byte, slotData+chunkHead+imageRegisters)
	b[slotUsed] = chunkHead + imageRegisters
	b[slotData+chunkLen] = imageRegisters
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := readEvent(b)
		if err == nil && len(e.image) < imageRegisters {
			t.Fatal("an image without registers")
		}
	})
}

// TestAssign: arguments lie where the documents of Go's register ABI say.
func TestAssign(t *testing.T) {
	word64 := &Type{Kind: reflect.Int, Size: 8}
	byteType := &Type{Kind: reflect.Uint8, Size: 1}
	text := &Type{Kind: reflect.String, Size: 16}
	list := &Type{Kind: reflect.Slice, Size: 24, Elem: text}
	float := &Type{Kind: reflect.Float64, Size: 8}
	one := &Type{Kind: reflect.Array, Size: 8, Len: 1, Elem: word64}
	two := &Type{Kind: reflect.Array, Size: 16, Len: 2, Elem: word64}
	empty := &Type{Kind: reflect.Struct}
	pair := &Type{Kind: reflect.Struct, Size: 24, Fields: []Field{{"a", 0, byteType}, {"b", 8, text}}}
	const stack = imageRegisters
	for _, c := range []struct {
		name  string
		types []*Type
		want  [][]int // at of each piece
		stack int
	}{
		{"words", []*Type{word64, text, list}, [][]int{{0}, {8, 16}, {24, 32, 40}}, 0},
		{"a float between", []*Type{word64, float, word64}, [][]int{{0}, {unseen}, {8}}, 0},
		{"a struct", []*Type{pair, byteType}, [][]int{{0, 8, 16}, {24}}, 0},
		{"arrays", []*Type{one, two, word64}, [][]int{{0}, {stack}, {8}}, 16},
		{"an empty struct", []*Type{empty, word64}, [][]int{{stack}, {0}}, 0},
		{"too many", []*Type{list, list, text, text, word64}, [][]int{{0, 8, 16}, {24, 32, 40}, {48, 56}, {stack}, {64}}, 16},
		{"aligned on the stack", []*Type{list, list, list, byteType, word64},
			[][]int{{0, 8, 16}, {24, 32, 40}, {48, 56, 64}, {stack}, {stack + 8}}, 16},
	} {
		var values []Value
		for _, x := range c.types {
			values = append(values, Value{Type: x})
		}
		n := assign(values)
		var got [][]int
		for _, v := range values {
			var at []int
			for _, p := range v.pieces {
				at = append(at, p.at)
			}
			got = append(got, at)
		}
		if !reflect.DeepEqual(got, c.want) || n != c.stack {
			t.Errorf("%s: %v and %d bytes, want %v and %d", c.name, got, n, c.want, c.stack)
		}
	}
}
