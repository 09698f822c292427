//go:build linux

package uprobe

import (
	"errors"

	"golang.org/x/arch/x86/x86asm"
)

// A Point is the instruction of a function that a uprobe replaces.
type Point struct {
	Address  uint64
	Text     string // the instruction
	Emulated bool   // the kernel carries it out itself; else each hit is stepped over, at many times the cost
}

// An instruction of a function, with where control goes from it.
type instruction struct {
	x86asm.Inst
	at   uint64
	next []uint64 // addresses within the function that may follow
	wild bool     // it jumps through a register
}

// choose picks the instruction for the probe: one that each call passes exactly once, before any
// register with an argument is written. The kernel emulates pushes, jumps, calls and NOPs, so one
// of those is taken if there is one. For nearly all functions with a frame it is PUSH RBP after
// the check of the stack: the entry itself is passed again when the stack has grown.
//
// It also returns the addresses of RET instructions.
func choose(code []byte, low uint64, registers int) (Point, []uint64, error) {
	// Find the returns.
	list, whole := disassemble(code, low)
	index := map[uint64]int{}
	var returns []uint64
	for i, in := range list {
		index[in.at] = i
		if in.Op == x86asm.RET {
			returns = append(returns, in.at)
		}
	}
	// Take the first emulated instruction that each call passes once, or else the first of any
	// kind. Stop where an instruction may change the arguments.
	best := -1
	for i := 0; i < len(list); i++ {
		in := list[i]
		checked := i > 0 && stackCheck(list[i-1]) && conditional(in.Op)
		if frame(in) || whole && !checked && passedOnce(list, index, i) {
			if emulated(in) {
				best = i
				break
			}
			if best < 0 {
				best = i
			}
		}
		if !harmless(in, registers) && !checked && !grows(list, index, in, low) {
			break
		}
	}
	if !whole {
		returns = nil
	}
	if best < 0 {
		return Point{}, nil, errors.New("has no instruction that each call passes once with its arguments in registers")
	}
	in := list[best]
	text := x86asm.GoSyntax(in.Inst, in.at, nil)
	return Point{Address: in.at, Text: text, Emulated: emulated(in)}, returns, nil
}

// frame reports whether an instruction begins a frame, which the compiler does once in a function.
func frame(in instruction) bool { return in.Op == x86asm.PUSH && in.Args[0] == x86asm.RBP }

// stackCheck reports whether an instruction compares with the limit of the goroutine's stack.
func stackCheck(in instruction) bool {
	m, ok := in.Args[1].(x86asm.Mem)
	return ok && in.Op == x86asm.CMP && m.Base == x86asm.R14 && m.Disp == 0x10
}

// disassemble reads instructions until the end, or until one that x86asm does not know, as some of
// AVX-512.
func disassemble(code []byte, low uint64) (list []instruction, whole bool) {
	for i := 0; i < len(code); {
		x, err := x86asm.Decode(code[i:], 64)
		if err != nil || x.Len == 0 {
			return list, false
		}
		in := instruction{Inst: x, at: low + uint64(i)}
		proceed(&in, low, low+uint64(len(code)))
		list = append(list, in)
		i += x.Len
	}
	return list, true
}

// proceed notes where control goes from an instruction.
func proceed(in *instruction, low, high uint64) {
	after := in.at + uint64(in.Len)
	inside := func(to uint64) {
		if to >= low && to < high {
			in.next = append(in.next, to)
		}
	}
	switch in.Op {
	case x86asm.RET, x86asm.UD1, x86asm.UD2, x86asm.INT:
	case x86asm.JMP:
		if rel, ok := in.Args[0].(x86asm.Rel); ok {
			inside(after + uint64(int64(rel)))
		} else {
			in.wild = true
		}
	default:
		if conditional(in.Op) {
			if rel, ok := in.Args[0].(x86asm.Rel); ok {
				inside(after + uint64(int64(rel)))
			}
		}
		inside(after)
	}
}

func conditional(op x86asm.Op) bool {
	switch op {
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JCXZ, x86asm.JE, x86asm.JECXZ, x86asm.JG, x86asm.JGE,
		x86asm.JL, x86asm.JLE, x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JRCXZ,
		x86asm.JS:
		return true
	}
	return false
}

// emulated reports whether the kernel carries an instruction out itself. Jumps by RCX, loops and
// prefixes are left to stepping.
func emulated(in instruction) bool {
	switch in.Op {
	case x86asm.PUSH:
		_, register := in.Args[0].(x86asm.Reg)
		return register && in.Len <= 2
	case x86asm.NOP:
		return in.Len <= 9
	case x86asm.JMP, x86asm.CALL:
		_, relative := in.Args[0].(x86asm.Rel)
		return relative
	case x86asm.JCXZ, x86asm.JECXZ, x86asm.JRCXZ:
		return false
	}
	return conditional(in.Op)
}

// passedOnce reports whether an instruction can't be reached from itself: a call passes it once at
// most.
func passedOnce(list []instruction, index map[uint64]int, i int) bool {
	seen := make([]bool, len(list))
	var stack []int
	push := func(in instruction) bool {
		if in.wild {
			return false
		}
		for _, to := range in.next {
			j, ok := index[to]
			if !ok || j == i {
				return false // into the middle of an instruction, or back
			}
			if !seen[j] {
				seen[j] = true
				stack = append(stack, j)
			}
		}
		return true
	}
	if !push(list[i]) {
		return false
	}
	for len(stack) > 0 {
		j := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !push(list[j]) {
			return false
		}
	}
	return true
}

// harmless reports whether control goes on after an instruction, which leaves registers with
// arguments and the stack pointer alone.
func harmless(in instruction, registers int) bool {
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.UCOMISD, x86asm.UCOMISS:
		return true
	case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.ADD, x86asm.SUB,
		x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.AND, x86asm.OR, x86asm.INC, x86asm.DEC, x86asm.NEG:
		r, ok := in.Args[0].(x86asm.Reg)
		return ok && !holds(r, registers)
	}
	return false
}

// grows reports whether an instruction is the jump of the stack check: its target asks for more
// stack, and begins again at the entry.
func grows(list []instruction, index map[uint64]int, in instruction, low uint64) bool {
	if in.Op != x86asm.JBE && in.Op != x86asm.JB && in.Op != x86asm.JAE && in.Op != x86asm.JA {
		return false
	}
	rel, ok := in.Args[0].(x86asm.Rel)
	if !ok {
		return false
	}
	j, ok := index[in.at+uint64(in.Len)+uint64(int64(rel))]
	for n := 0; ok && n < 64 && j < len(list); n, j = n+1, j+1 {
		x := list[j]
		if x.Op == x86asm.JMP {
			return len(x.next) == 1 && x.next[0] == low
		}
		if len(x.next) != 1 {
			return false
		}
	}
	return false
}

// argumentRegisters in the order of the ABI, in all their widths.
var argumentRegisters = [intRegisters][]x86asm.Reg{
	{x86asm.RAX, x86asm.EAX, x86asm.AX, x86asm.AL, x86asm.AH},
	{x86asm.RBX, x86asm.EBX, x86asm.BX, x86asm.BL, x86asm.BH},
	{x86asm.RCX, x86asm.ECX, x86asm.CX, x86asm.CL, x86asm.CH},
	{x86asm.RDI, x86asm.EDI, x86asm.DI, x86asm.DIB},
	{x86asm.RSI, x86asm.ESI, x86asm.SI, x86asm.SIB},
	{x86asm.R8, x86asm.R8L, x86asm.R8W, x86asm.R8B},
	{x86asm.R9, x86asm.R9L, x86asm.R9W, x86asm.R9B},
	{x86asm.R10, x86asm.R10L, x86asm.R10W, x86asm.R10B},
	{x86asm.R11, x86asm.R11L, x86asm.R11W, x86asm.R11B},
}

// holds reports whether writing a register would lose an argument, the stack or the goroutine.
func holds(r x86asm.Reg, registers int) bool {
	switch r {
	case x86asm.RSP, x86asm.ESP, x86asm.SP, x86asm.R14, x86asm.R14L:
		return true
	}
	for _, all := range argumentRegisters[:registers] {
		for _, x := range all {
			if x == r {
				return true
			}
		}
	}
	return false
}
