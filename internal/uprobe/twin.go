//go:build linux

package uprobe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// sameCode returns an error if two files have other functions, or the same ones elsewhere or with
// other machine code. Where code refers to data, the addresses may differ: a program holds the
// flags of its build, so one that was built with -ldflags=-s has data of another length.
func sameCode(a, b *elf.File) error {
	here, err := functionsOf(a)
	if err != nil {
		return err
	}
	there, err := functionsOf(b)
	if err != nil {
		return err
	}
	if len(here.Funcs) != len(there.Funcs) {
		return fmt.Errorf("it has %d functions, and the process %d", len(there.Funcs), len(here.Funcs))
	}
	codeA, err := textOf(a)
	if err != nil {
		return err
	}
	codeB, err := textOf(b)
	if err != nil {
		return err
	}
	for i := range here.Funcs {
		f, g := &here.Funcs[i], &there.Funcs[i]
		switch {
		case f.Name != g.Name:
			return fmt.Errorf("%s stands in the place of %s", g.Name, f.Name)
		case f.Entry != g.Entry || f.End != g.End:
			return fmt.Errorf("%s is at another address, or of another length", f.Name)
		case f.Name != buildID && !sameInstructions(codeA.codeBetween(f.Entry, f.End),
			codeB.codeBetween(g.Entry, g.End), f.Entry, codeA):
			return fmt.Errorf("the machine code of %s differs", f.Name)
		}
	}
	return nil
}

// buildID is the name of the text before the code. It depends on flags of the linker.
const buildID = "go:buildid"

// A text is the machine code of a file.
type text struct {
	code []byte
	low  uint64
}

func textOf(f *elf.File) (text, error) {
	s := f.Section(".text")
	if s == nil {
		return text{}, errors.New("the file has no section .text")
	}
	code, err := s.Data()
	return text{code, s.Addr}, err
}

// codeBetween returns the code between two addresses, as far as there is any.
func (t text) codeBetween(low, high uint64) []byte {
	end := t.low + uint64(len(t.code))
	low, high = min(max(low, t.low), end), min(max(high, t.low), end)
	return t.code[low-t.low : max(low, high)-t.low]
}

// holds reports whether an address is one of code.
func (t text) holds(address uint64) bool {
	return address >= t.low && address < t.low+uint64(len(t.code))
}

// sameInstructions compares two functions at one address, and leaves out the addresses of data.
// Instructions of unknown length must be the same, with all that follow.
func sameInstructions(a, b []byte, low uint64, all text) bool {
	for i := 0; !bytes.Equal(a[i:], b[i:]); {
		x, y := operandOf(a[i:], low+uint64(i)), operandOf(b[i:], low+uint64(i))
		if x.length == 0 || x.length != y.length || x.at != y.at || x.size != y.size {
			return false
		}
		one, other := a[i:i+x.length], b[i:i+x.length]
		if !bytes.Equal(one, other) && (all.holds(x.address) || all.holds(y.address) ||
			!bytes.Equal(one[:x.at], other[:y.at]) || !bytes.Equal(one[x.at+x.size:], other[y.at+y.size:])) {
			return false
		}
		i += x.length
	}
	return true
}

// An operand is the part of an instruction that names an address by its distance from the next
// instruction.
type operand struct {
	length   int // of the instruction; 0 if it is not known
	at, size int
	address  uint64
}

// operandOf reads an instruction.
func operandOf(code []byte, at uint64) (o operand) {
	if o = vector(code); o.length == 0 {
		in, err := x86asm.Decode(code, 64)
		if err != nil {
			return operand{}
		}
		o = operand{length: in.Len, at: in.PCRelOff, size: in.PCRel}
	}
	switch {
	case o.length > len(code):
		return operand{}
	case o.size == 4:
		distance := int32(binary.LittleEndian.Uint32(code[o.at:]))
		o.address = at + uint64(o.length) + uint64(int64(distance))
	default: // a short jump stays in the code
		o.at, o.size = 0, 0
	}
	return o
}

// vector reads an instruction of AVX, BMI or AVX-512, which x86asm does not know: a prefix with the
// map of the operation, the operation, ModRM, SIB, the distance, and an immediate byte.
func vector(code []byte) (o operand) {
	if len(code) < 16 {
		code = append(append(make([]byte, 0, 32), code...), make([]byte, 16)...)
	}
	const vex2, vex3, evex, zeroUpper = 0xc5, 0xc4, 0x62, 0x77
	group, n := byte(1), 0
	switch code[0] {
	case vex2:
		n = 2
	case vex3:
		group, n = code[1]&0x1f, 3
	case evex:
		group, n = code[1]&7, 4
	default:
		return o
	}
	operation, mode, register := code[n], code[n+1]>>6, code[n+1]&7
	if code[0] != evex && group == 1 && operation == zeroUpper {
		return operand{length: n + 1}
	}
	n += 2
	if mode != 3 && register == 4 { // SIB
		if mode == 0 && code[n]&7 == 5 {
			n += 4
		}
		n++
	}
	switch {
	case mode == 0 && register == 5:
		o.at, o.size = n, 4
		n += 4
	case mode == 1:
		n++
	case mode == 2:
		n += 4
	}
	switch operation {
	case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
		if group == 1 {
			n++
		}
	}
	if group == 3 {
		n++
	}
	o.length = n
	return o
}
