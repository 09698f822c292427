//go:build linux

package uprobe

import (
	"slices"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Registers that keep their meaning through the body of the loop.
const (
	slot  = asm.R7
	chunk = asm.R8
	ref   = asm.R9
)

// follow returns the body of the loop: it looks at one reference and copies its target, or goes on
// to the next element or chunk. The copies are a queue: their own references come later.
func follow() asm.Instructions {
	p := slices.Concat(followChunk(), followReference(), followTarget())
	// The verifier wants the type of a callback.
	number := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	word32 := &btf.Int{Name: "u32", Size: 4}
	p[0] = btf.WithFuncMetadata(p[0].WithSymbol("follow"), &btf.Func{Name: "follow", Linkage: btf.StaticFunc,
		Type: &btf.FuncProto{Return: number, Params: []btf.FuncParam{{Name: "i", Type: word32},
			{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}}}}})
	return p
}

// followChunk finds the reference to look at: the next one of the current element, else the first
// of the next element, else that of the next chunk.
func followChunk() asm.Instructions {
	// Find the slot of this call, its current chunk and the layout of the chunk.
	p := asm.Instructions{
		load(asm.R1, asm.R2, 0), store(asm.RFP, -8, asm.R1), // R2 points to fpSlot of the caller
	}
	p = append(p, lookup("slots", -8)...)
	p = append(p,
		asm.JEq.Imm(asm.R0, 0, "stop"),
		asm.Mov.Reg(slot, asm.R0),
		load(asm.R1, slot, slotCursor), load(asm.R2, slot, slotUsed),
		asm.JGE.Reg(asm.R1, asm.R2, "stop"),
		asm.JGT.Imm(asm.R1, room, "stop"),
		asm.Mov.Reg(chunk, slot), asm.Add.Imm(chunk, slotData), asm.Add.Reg(chunk, asm.R1),
		asm.LoadMem(asm.R1, chunk, chunkLayout, asm.Word), store(asm.RFP, -8, asm.R1))
	p = append(p, lookup("layouts", -8)...)
	p = append(p,
		asm.JEq.Imm(asm.R0, 0, "stop"),
		asm.LoadMem(asm.R6, asm.R0, 0, asm.Word), // size of an element
		asm.LoadMem(asm.R3, asm.R0, 4, asm.Word), // number of references
		asm.LoadMem(asm.R4, asm.R0, 8, asm.Word), // the first
		load(asm.R1, slot, slotElem), load(asm.R2, slot, slotRef),
		asm.JEq.Imm(asm.R3, 0, "chunk"),
		asm.JLT.Reg(asm.R2, asm.R3, "look"),
		asm.Mov.Imm(asm.R2, 0), asm.Add.Imm(asm.R1, 1),
		store(slot, slotElem, asm.R1), store(slot, slotRef, asm.R2),
		asm.LoadMem(asm.R5, chunk, chunkCount, asm.Word),
		asm.JLT.Reg(asm.R1, asm.R5, "next"),
		// The next chunk.
		asm.LoadMem(asm.R5, chunk, chunkLen, asm.Word).WithSymbol("chunk"),
		asm.Add.Imm(asm.R5, chunkHead+7), asm.And.Imm(asm.R5, -8),
		load(asm.R1, slot, slotCursor), asm.Add.Reg(asm.R1, asm.R5), store(slot, slotCursor, asm.R1),
		asm.Mov.Imm(asm.R1, 0), store(slot, slotElem, asm.R1), store(slot, slotRef, asm.R1),
		asm.Ja.Label("next"),
		// The reference.
		asm.Mul.Reg(asm.R6, asm.R1).WithSymbol("look"), // where the element is in the chunk
		asm.Add.Reg(asm.R4, asm.R2), store(asm.RFP, -8, asm.R4),
		asm.Add.Imm(asm.R2, 1), store(slot, slotRef, asm.R2))
	return append(p, lookup("refs", -8)...)
}

// followReference reads the reference: where it points, and how many elements of its target are
// copied.
func followReference() asm.Instructions {
	return asm.Instructions{
		asm.JEq.Imm(asm.R0, 0, "stop"),
		asm.Mov.Reg(ref, asm.R0),
		asm.LoadMem(asm.R1, ref, 0, asm.Word), asm.Add.Reg(asm.R6, asm.R1),
		asm.JGT.Imm(asm.R6, maxChunk, "next"),
		asm.LoadMem(asm.R2, ref, 4, asm.Word), asm.Mov.Reg(asm.R3, asm.R2),
		asm.LSh.Imm(asm.R3, 3), asm.Add.Imm(asm.R3, word), asm.Add.Reg(asm.R3, asm.R6), // where the reference ends
		asm.LoadMem(asm.R1, chunk, chunkLen, asm.Word),
		asm.JGT.Reg(asm.R3, asm.R1, "next"),
		asm.Mov.Reg(asm.R4, chunk), asm.Add.Reg(asm.R4, asm.R6),
		load(asm.R3, asm.R4, chunkHead), // the pointer
		asm.Mov.Imm(asm.R5, 1),
		asm.JEq.Imm(asm.R2, 0, "one"),
		load(asm.R5, asm.R4, chunkHead+word),
		asm.JEq.Imm(asm.R3, 0, "next").WithSymbol("one"),
		asm.JEq.Imm(asm.R5, 0, "next"),
		asm.LoadMem(asm.R1, ref, 16, asm.Word),
		asm.JLE.Reg(asm.R5, asm.R1, "few"),
		asm.Mov.Reg(asm.R5, asm.R1),
	}
}

// followTarget copies the target into a new chunk at the end of the slot, if there is room.
func followTarget() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R2, ref, 12, asm.Word).WithSymbol("few"),
		asm.Mul.Reg(asm.R2, asm.R5),
		asm.JGT.Imm(asm.R2, maxChunk, "next"),
		load(asm.R1, slot, slotUsed),
		asm.JGT.Imm(asm.R1, room-chunkHead-maxChunk-8, "over"),
		asm.Mov.Reg(asm.R6, slot), asm.Add.Imm(asm.R6, slotData), asm.Add.Reg(asm.R6, asm.R1), // the new chunk
		store(asm.R6, chunkAddress, asm.R3),
		asm.StoreMem(asm.R6, chunkLen, asm.R2, asm.Word),
		asm.StoreMem(asm.R6, chunkCount, asm.R5, asm.Word),
		asm.LoadMem(asm.R4, ref, 8, asm.Word),
		asm.StoreMem(asm.R6, chunkLayout, asm.R4, asm.Word),
		asm.Add.Reg(asm.R1, asm.R2), asm.Add.Imm(asm.R1, chunkHead+7), asm.And.Imm(asm.R1, -8),
		store(asm.RFP, -8, asm.R1),
		asm.Mov.Reg(asm.R1, asm.R6), asm.Add.Imm(asm.R1, chunkHead),
		asm.FnProbeReadUser.Call(),
		asm.JEq.Imm(asm.R0, 0, "keep"),
		load(asm.R1, slot, slotFaults), asm.Add.Imm(asm.R1, 1), store(slot, slotFaults, asm.R1),
		asm.Ja.Label("next"),
		load(asm.R1, asm.RFP, -8).WithSymbol("keep"), store(slot, slotUsed, asm.R1),
		asm.Ja.Label("next"),
		load(asm.R1, slot, slotOver).WithSymbol("over"), asm.Add.Imm(asm.R1, 1), store(slot, slotOver, asm.R1),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("next"), asm.Return(),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("stop"), asm.Return(),
	}
}
