//go:build linux

package uprobe

import (
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// These bound the copies that the program in the kernel makes of one call.
const (
	slots      = 32       // calls that are copied at the same time
	room       = 32 << 10 // bytes of memory and headers that a call's copy has room for
	steps      = 8192     // references that are looked at
	ringBytes  = 4 << 20
	maxSites   = 64
	maxFlights = 4096                  // calls whose results are waited for
	arrears    = 50 * time.Millisecond // intervals that passed without a call are made up for, this long
)

// Fields of a site in the kernel's map, in bytes. All are 64 bits wide.
const (
	siteHits     = 8 * iota // calls
	siteTaken               // calls that the gate chose
	siteNext                // monotonic time before which none is chosen
	siteInterval            // nanoseconds between calls that are chosen; 0 shuts the gate
	siteSkip                // calls that pass before the next is chosen
	siteMostSkip            // bound of the random number of them
	siteTogether            // times that two calls met at the gate
	siteBusy                // calls that found no slot
	siteFull                // calls that found no room in the ring
	siteLayout              // of the image at the entry
	siteStack               // bytes of stack of it
	siteReturn              // layout of the image at a return; 0 when results are not wanted
	siteReturnStack
	siteReturns // returns that were passed
	siteTurn    // turns through the slots
	siteSize
)

// Fields of a slot, in bytes.
const (
	slotBusy   = 8 * iota
	slotTime   // monotonic
	slotG      // the goroutine
	slotSP     // stack pointer: the return address lies there
	slotCookie // site, and atReturn
	slotNumber // of the call at its site
	slotUsed   // bytes of data
	slotCursor // chunk whose references are looked at
	slotElem   // element of it
	slotRef    // reference of it
	slotOver   // references for which there was no room
	slotFaults // reads that failed
	slotSpent  // nanoseconds that the copy took
	slotData   // chunks begin here
)

// A chunk is a header and a copy of memory, rounded up to 8 bytes. The first is the call's image.
const (
	chunkAddress = 0  // 8 bytes
	chunkLen     = 8  // 4
	chunkLayout  = 12 // 4
	chunkCount   = 16 // 4
	chunkHead    = 24
)

// atReturn, in a cookie, marks a site's RET instructions.
const atReturn = 1 << 32

// Offsets in pt_regs.
const (
	regsR14 = 8
	regsSP  = 152
)

// argumentOffsets are the offsets of the ABI's registers in pt_regs, in its order.
var argumentOffsets = [intRegisters]int16{80, 40, 88, 112, 104, 72, 64, 56, 48}

// Places on the program's stack.
const (
	fpSite   = -8
	fpSlot   = -16
	fpNumber = -24
	fpLayout = -32
	fpStack  = -40
	fpCookie = -48
	fpDepth  = -56 // with fpG the key of a call under way
	fpG      = -64
	fpValue  = -72
	fpFlight = -80 // with fpValue a call under way
)

func load(dst, src asm.Register, off int16) asm.Instruction {
	return asm.LoadMem(dst, src, off, asm.DWord)
}
func store(dst asm.Register, off int16, src asm.Register) asm.Instruction {
	return asm.StoreMem(dst, off, src, asm.DWord)
}

// atomic returns an atomic operation that returns the old value. The library drops the operation
// from the instruction's constant when it writes it (v0.22.0), and leaves an addition: so it is set
// here.
func atomic(op asm.AtomicOp, dst, src asm.Register, off int16) asm.Instruction {
	in := op.Mem(dst, src, asm.DWord, off)
	in.Constant = int64(op >> 8)
	return in
}

func count(site asm.Register, field int16) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(site, asm.R1, asm.DWord, field)}
}

// lookup finds the element of a map whose key lies on the stack, in R0.
func lookup(m string, key int32) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, 0).WithReference(m),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
		asm.FnMapLookupElem.Call(),
	}
}

// program returns the code of a hit: R6 is the context, R7 the site, R8 the slot.
func program() asm.Instructions {
	var p asm.Instructions
	add := func(parts ...asm.Instructions) {
		for _, x := range parts {
			p = append(p, x...)
		}
	}
	// Find the call, copy its registers and its stack, and follow its pointers.
	add(findSite(), forget(), gate(), results(), claim(), copyImage(), asm.Instructions{
		asm.Mov.Imm(asm.R1, steps),
		loadFunction(asm.R2, "follow"),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, fpSlot),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnLoop.Call(),
	}, remember(), asm.Instructions{
		// Note the time, and send the event.
		asm.FnKtimeGetNs.Call(),
		load(asm.R1, asm.R8, slotTime), asm.Sub.Reg(asm.R0, asm.R1), store(asm.R8, slotSpent, asm.R0),
		load(asm.R3, asm.R8, slotUsed),
		asm.JGT.Imm(asm.R3, room, "release"),
		asm.Add.Imm(asm.R3, slotData),
		asm.LoadMapPtr(asm.R1, 0).WithReference("ring"),
		asm.Mov.Reg(asm.R2, asm.R8),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.JEq.Imm(asm.R0, 0, "release"),
	}, count(asm.R7, siteFull), asm.Instructions{
		// Give the slot back.
		asm.Mov.Imm(asm.R1, 0).WithSymbol("release"),
		atomic(asm.Xchg, asm.R8, asm.R1, slotBusy),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	}, follow())
	// Describe the signature to the kernel.
	number := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	p[0] = btf.WithFuncMetadata(p[0].WithSymbol("hit"), &btf.Func{Name: "hit", Linkage: btf.GlobalFunc,
		Type: &btf.FuncProto{Return: number,
			Params: []btf.FuncParam{{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}}}}})
	return p
}

// loadFunction loads a function of the program, for bpf_loop.
func loadFunction(dst asm.Register, name string) asm.Instruction {
	return asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: dst, Src: asm.PseudoFunc, Constant: -1}.
		WithReference(name)
}

// findSite finds the site that was hit.
func findSite() asm.Instructions {
	p := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetAttachCookie.Call(),
		store(asm.RFP, fpCookie, asm.R0),
		asm.Mov.Reg32(asm.R0, asm.R0),
		store(asm.RFP, fpSite, asm.R0),
	}
	p = append(p, lookup("sites", fpSite)...)
	return append(p,
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R7, asm.R0),
		load(asm.R1, asm.RFP, fpCookie),
		asm.RSh.Imm(asm.R1, 32),
		asm.JNE.Imm(asm.R1, 0, "return"))
}

// forget drops a call of the same goroutine at the same depth whose results are still to come: it
// cannot be under way where another begins. It ended in a panic, or its goroutine ended, and the
// return of the new call would be taken for its own.
func forget() asm.Instructions {
	p := asm.Instructions{
		load(asm.R1, asm.R7, siteReturn),
		asm.JEq.Imm(asm.R1, 0, "gate"),
	}
	p = append(p, depth()...)
	p = append(p, lookup("flights", fpG)...)
	return append(p,
		asm.JEq.Imm(asm.R0, 0, "gate"),
		asm.LoadMapPtr(asm.R1, 0).WithReference("flights"),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, fpG),
		asm.FnMapDeleteElem.Call())
}

// gate counts the call, and chooses one of those that follow the end of each interval.
func gate() asm.Instructions {
	p := count(asm.R7, siteHits)
	p[0] = p[0].WithSymbol("gate")
	p = append(p,
		load(asm.R1, asm.R7, siteInterval),
		asm.JEq.Imm(asm.R1, 0, "exit"),
		load(asm.R1, asm.R7, siteSkip),
		asm.JSLE.Imm(asm.R1, 0, "clock"),
		asm.Mov.Imm(asm.R1, -1),
		atomic(asm.FetchAdd, asm.R7, asm.R1, siteSkip),
		asm.JEq.Imm(asm.R1, 1, "take"),
		asm.Ja.Label("exit"),
		asm.FnKtimeGetNs.Call().WithSymbol("clock"),
		asm.Mov.Reg(asm.R9, asm.R0),
		load(asm.R1, asm.R7, siteNext),
		asm.JGT.Reg(asm.R1, asm.R9, "exit"),
		asm.Mov.Reg(asm.R2, asm.R9), asm.Sub.Imm(asm.R2, int32(arrears)), // calls may come in bursts
		asm.JGE.Reg(asm.R2, asm.R1, "late"),
		asm.Mov.Reg(asm.R2, asm.R1),
		load(asm.R3, asm.R7, siteInterval).WithSymbol("late"),
		asm.Add.Reg(asm.R2, asm.R3),
		asm.Mov.Reg(asm.R0, asm.R1),
		atomic(asm.CmpXchg, asm.R7, asm.R2, siteNext),
		asm.JNE.Reg(asm.R0, asm.R1, "met"),
		asm.FnGetPrandomU32.Call(),
		load(asm.R1, asm.R7, siteMostSkip),
		asm.JEq.Imm(asm.R1, 0, "take"),
		asm.Mod.Reg(asm.R0, asm.R1),
		asm.JEq.Imm(asm.R0, 0, "take"),
		store(asm.R7, siteSkip, asm.R0),
		asm.Ja.Label("exit"),
		asm.Mov.Imm(asm.R1, 1).WithSymbol("met"),
		asm.AddAtomic.Mem(asm.R7, asm.R1, asm.DWord, siteTogether),
		asm.Ja.Label("exit"),
		asm.Mov.Imm(asm.R1, 1).WithSymbol("take"),
		atomic(asm.FetchAdd, asm.R7, asm.R1, siteTaken),
		store(asm.RFP, fpNumber, asm.R1),
		load(asm.R1, asm.R7, siteLayout), store(asm.RFP, fpLayout, asm.R1),
		load(asm.R1, asm.R7, siteStack), store(asm.RFP, fpStack, asm.R1),
		asm.Ja.Label("claim"))
	return p
}

// depth computes how deep the stack is. A goroutine's stack may move between a call and its return;
// the distance to its upper end stays.
func depth() asm.Instructions {
	return asm.Instructions{
		load(asm.R3, asm.R6, regsR14), store(asm.RFP, fpG, asm.R3),
		asm.Mov.Imm(asm.R1, 0), store(asm.RFP, fpDepth, asm.R1),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, fpDepth),
		asm.Mov.Imm(asm.R2, 8),
		asm.Add.Imm(asm.R3, 8), // the upper end is g's second word
		asm.FnProbeReadUser.Call(),
		load(asm.R1, asm.RFP, fpDepth), load(asm.R2, asm.R6, regsSP),
		asm.Sub.Reg(asm.R1, asm.R2), store(asm.RFP, fpDepth, asm.R1),
	}
}

// results returns the beginning of a return: it goes on only for a captured call.
func results() asm.Instructions {
	p := asm.Instructions{
		asm.Mov.Imm(asm.R1, 1).WithSymbol("return"),
		asm.AddAtomic.Mem(asm.R7, asm.R1, asm.DWord, siteReturns),
	}
	p = append(p, depth()...)
	p = append(p, lookup("flights", fpG)...)
	return append(p,
		asm.JEq.Imm(asm.R0, 0, "exit"),
		load(asm.R1, asm.R0, 8), load(asm.R2, asm.RFP, fpSite),
		asm.JNE.Reg(asm.R1, asm.R2, "exit"),
		load(asm.R1, asm.R0, 0), store(asm.RFP, fpNumber, asm.R1),
		asm.LoadMapPtr(asm.R1, 0).WithReference("flights"),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, fpG),
		asm.FnMapDeleteElem.Call(),
		load(asm.R1, asm.R7, siteReturn), store(asm.RFP, fpLayout, asm.R1),
		load(asm.R1, asm.R7, siteReturnStack), store(asm.RFP, fpStack, asm.R1))
}

// claim takes a slot. A program may be interrupted by another on the same processor, so slots
// belong to hits, not to processors.
func claim() asm.Instructions {
	p := asm.Instructions{
		asm.Mov.Imm(asm.R1, 1).WithSymbol("claim"),
		atomic(asm.FetchAdd, asm.R7, asm.R1, siteTurn),
		asm.And.Imm(asm.R1, slots-1),
		store(asm.RFP, fpSlot, asm.R1),
	}
	p = append(p, lookup("slots", fpSlot)...)
	p = append(p,
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Mov.Imm(asm.R1, 1),
		atomic(asm.CmpXchg, asm.R8, asm.R1, slotBusy),
		asm.JEq.Imm(asm.R0, 0, "fill"))
	p = append(p, count(asm.R7, siteBusy)...)
	return append(p, asm.Ja.Label("exit"))
}

// copyImage writes the first chunk: registers and stack.
func copyImage() asm.Instructions {
	// Fill in the slot's head.
	p := asm.Instructions{
		asm.FnKtimeGetNs.Call().WithSymbol("fill"),
		store(asm.R8, slotTime, asm.R0),
		load(asm.R1, asm.R6, regsR14), store(asm.R8, slotG, asm.R1),
		load(asm.R9, asm.R6, regsSP), store(asm.R8, slotSP, asm.R9),
		load(asm.R1, asm.RFP, fpCookie), store(asm.R8, slotCookie, asm.R1),
		load(asm.R1, asm.RFP, fpNumber), store(asm.R8, slotNumber, asm.R1),
		asm.Mov.Imm(asm.R1, 0),
		store(asm.R8, slotCursor, asm.R1), store(asm.R8, slotElem, asm.R1), store(asm.R8, slotRef, asm.R1),
		store(asm.R8, slotOver, asm.R1), store(asm.R8, slotFaults, asm.R1),
		store(asm.R8, slotUsed, asm.R1),
		store(asm.R8, slotData+chunkAddress, asm.R1),
	}
	// Copy the registers that hold arguments.
	for i, off := range argumentOffsets {
		p = append(p, load(asm.R1, asm.R6, off), store(asm.R8, slotData+chunkHead+int16(i)*word, asm.R1))
	}
	// Copy the stack. A fault on the way is counted, and the registers stay.
	return append(p,
		load(asm.R2, asm.RFP, fpStack),
		asm.JGT.Imm(asm.R2, 2*maxStack, "release"),
		asm.Mov.Reg(asm.R1, asm.R2), asm.Add.Imm(asm.R1, imageRegisters),
		asm.StoreMem(asm.R8, slotData+chunkLen, asm.R1, asm.Word),
		asm.Add.Imm(asm.R1, chunkHead), store(asm.R8, slotUsed, asm.R1),
		load(asm.R1, asm.RFP, fpLayout), asm.StoreMem(asm.R8, slotData+chunkLayout, asm.R1, asm.Word),
		asm.Mov.Imm(asm.R1, 1), asm.StoreMem(asm.R8, slotData+chunkCount, asm.R1, asm.Word),
		asm.JEq.Imm(asm.R2, 0, "copied"),
		asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, slotData+chunkHead+imageRegisters),
		asm.Mov.Reg(asm.R3, asm.R9), asm.Add.Imm(asm.R3, word),
		asm.FnProbeReadUser.Call(),
		asm.JEq.Imm(asm.R0, 0, "copied"),
		asm.Mov.Imm(asm.R1, 1), store(asm.R8, slotFaults, asm.R1),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("copied"),
	)
}

// remember has the call's return looked for, if results are wanted.
func remember() asm.Instructions {
	p := asm.Instructions{
		load(asm.R1, asm.RFP, fpCookie),
		asm.RSh.Imm(asm.R1, 32),
		asm.JNE.Imm(asm.R1, 0, "output"),
		load(asm.R1, asm.R7, siteReturn),
		asm.JEq.Imm(asm.R1, 0, "output"),
	}
	p = append(p, depth()...)
	return append(p,
		load(asm.R1, asm.RFP, fpNumber), store(asm.RFP, fpFlight, asm.R1),
		load(asm.R1, asm.RFP, fpSite), store(asm.RFP, fpValue, asm.R1),
		asm.LoadMapPtr(asm.R1, 0).WithReference("flights"),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, fpG),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, fpFlight),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("output"),
	)
}

// spec is the program and its maps.
func spec(layouts, refs [][]byte) *ebpf.CollectionSpec {
	table := func(name string, size int, rows [][]byte) *ebpf.MapSpec {
		m := &ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size),
			MaxEntries: uint32(max(len(rows), 1))}
		for i, row := range rows {
			m.Contents = append(m.Contents, ebpf.MapKV{Key: uint32(i), Value: row})
		}
		return m
	}
	return &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{
			"layouts": table("layouts", layoutBytes, layouts),
			"refs":    table("refs", referenceBytes, refs),
			"sites": {Name: "sites", Type: ebpf.Array, KeySize: 4, ValueSize: siteSize, MaxEntries: maxSites,
				Flags: unix.BPF_F_MMAPABLE},
			"slots": {Name: "slots", Type: ebpf.Array, KeySize: 4,
				ValueSize: slotData + room + 2*maxChunk + 2*chunkHead, MaxEntries: slots},
			"flights": {Name: "flights", Type: ebpf.LRUHash, KeySize: 16, ValueSize: 16, MaxEntries: maxFlights},
			"ring":    {Name: "ring", Type: ebpf.RingBuf, MaxEntries: ringBytes},
		},
		Programs: map[string]*ebpf.ProgramSpec{
			"hit": {Name: "hit", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL",
				Instructions: program()},
		},
	}
}
