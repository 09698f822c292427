package main

import (
	"fmt"
	"regexp"
	"strings"
)

// maxStack bounds the stack of a NOSPLIT kernel: Go guarantees about 800 bytes, and the Go linker
// proves the sum because the prologue is in mnemonics.
const maxStack = 512

// A push is one prologue instruction that moves the stack pointer.
type push struct {
	mnemonic string
	bytes    int // length of the instruction
	size     int // how far it moves SP
}

// instructions cuts the function of a kernel out of LLVM's listing and strips
// it to labels and instructions.
func instructions(listing, symbol string) []string {
	_, listing, _ = strings.Cut(listing, "\n"+symbol+":")
	listing, _, _ = strings.Cut(listing, "\n.Lfunc_end")
	var out []string
	for _, line := range strings.Split(listing, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimRight(line, " \t")
		t := strings.TrimSpace(line)
		label := strings.HasSuffix(t, ":")
		if t == "" || strings.HasPrefix(t, "#") || strings.HasPrefix(t, ".") && !label ||
			strings.HasPrefix(t, ".Lfunc_") {
			continue
		}
		out = append(out, strings.ReplaceAll(line, "\t", " "))
	}
	return out
}

// checkListing refuses what the bytes alone do not show. The listing comes
// from the same run of the compiler as the bytes.
func checkListing(k *kernel, arch string) error {
	for _, line := range k.list {
		if strings.HasSuffix(line, ":") {
			continue
		}
		var err error
		if arch == "arm64" {
			err = checkARM64(k.symbol, strings.TrimSpace(line))
		} else {
			err = checkAMD64(k.symbol, strings.TrimSpace(line))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	armReserved = regexp.MustCompile(`\b[wx](18|28)\b`)
	armStack    = regexp.MustCompile(`\bsp\b`)
	armCall     = regexp.MustCompile(`^(bl|blr|br)\b`)
	callX86     = regexp.MustCompile(`^call`)
	onStack     = regexp.MustCompile(`\(%r[sb]p[),]`)
	realign     = regexp.MustCompile(`^and[lq]?\s.*%[er]sp$`)
	alignedMove = regexp.MustCompile(`^v?mov(aps|apd|dqa|dqa32|dqa64|ntdq|ntps|ntpd)\b`)
	legacyXMM   = regexp.MustCompile(`^[a-uw-z].*%xmm`)
	unaligned   = regexp.MustCompile(
		`^(mov(ups|upd|dqu|ss|sd|q|d|hps|lps|hpd|lpd)|cvt|add(ss|sd)|sub(ss|sd)|mul(ss|sd)|div(ss|sd)|pinsr|pextr)`)
)

func checkARM64(kernel, line string) error {
	switch {
	case armReserved.MatchString(line):
		return refuse(kernel, "x18/x28 use", "'"+line+"': x28 is Go's g and x18 belongs to some systems")
	case armCall.MatchString(line):
		return refuse(kernel, "calls", "'"+line+"'")
	case armStack.MatchString(line):
		return refuse(kernel, "stack use on arm64", "'"+line+"': arm64 kernels must keep everything in registers")
	}
	return nil
}

func checkAMD64(kernel, line string) error {
	switch {
	case callX86.MatchString(line):
		return refuse(kernel, "calls", "'"+line+"'")
	case realign.MatchString(line):
		return refuse(kernel, "aligned spills", "'"+line+"' realigns the stack, which Go could not unwind")
	case onStack.MatchString(line) &&
		(alignedMove.MatchString(line) || legacyXMM.MatchString(line) && !unaligned.MatchString(line)):
		return refuse(kernel, "aligned spills",
			"'"+line+"' needs an aligned stack, which Go does not promise; use fewer live vectors")
	}
	return nil
}

var regNames = [16]string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12",
	"R13", "R14", "R15"}

// prologue reads the pushes and the frame allocation at the start of an amd64
// kernel. They are emitted as mnemonics so that the Go linker knows the depth
// at each instruction. Any other use of SP in the listing is refused.
func prologue(k *kernel) error {
	code := k.code[:k.text]
	for {
		p, ok := decodePush(code)
		if !ok {
			break
		}
		k.push = append(k.push, p)
		k.stack += p.size
		code = code[p.bytes:]
	}
	if k.stack > maxStack {
		return refuse(k.symbol, "stack over 512 bytes", fmt.Sprintf("the frame takes %d", k.stack))
	}
	return k.checkSP()
}

// decodePush recognises PUSH r64 and SUB $n, RSP.
func decodePush(code []byte) (push, bool) {
	switch {
	case len(code) > 7 && code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xec && int8(code[3]) > 0:
		return adjust(4, int(code[3])), true
	case len(code) > 7 && code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xec:
		return adjust(7, int(code[3])|int(code[4])<<8|int(code[5])<<16|int(code[6])<<24), true
	case len(code) > 1 && code[0]&0xf8 == 0x50:
		return push{"PUSHQ " + regNames[code[0]&7], 1, 8}, true
	case len(code) > 2 && code[0] == 0x41 && code[1]&0xf8 == 0x50:
		return push{"PUSHQ " + regNames[8+code[1]&7], 2, 8}, true
	}
	return push{}, false
}

func adjust(bytes, n int) push { return push{fmt.Sprintf("ADJSP $%d", n), bytes, n} }

var movesSP = regexp.MustCompile(`^(push|sub[lq]?\s.*%rsp$|lea.*,\s*%rsp$|mov[lq]?\s.*,\s*%rsp$)`)

// checkSP compares the stack instructions of the listing with the prologue.
func (k *kernel) checkSP() error {
	n := 0
	for _, line := range k.list {
		if movesSP.MatchString(strings.TrimSpace(line)) {
			n++
		}
	}
	if n != len(k.push) {
		return refuse(k.symbol, "unknown prologue",
			fmt.Sprintf("%d instructions move SP, %d of them at the start", n, len(k.push)))
	}
	return nil
}
