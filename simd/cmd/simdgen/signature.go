package main

import (
	"bytes"
	"fmt"
	"strings"
)

// A family is one kernel in all its tiers; they share signature and mode.
type family struct {
	snake string // tag_index
	name  string // tagIndex
	mode  string
	args  []arg
	rets  []string
	tiers map[string][]*kernel // by architecture, lowest tier first
}

// An arg is one parameter of a kernel. elem is set for slices only.
type arg struct {
	name  string
	typ   string // Go type without []: uint8, *[32]uint8
	slice bool
	write bool
}

// kernel is one compiled body.
type kernel struct {
	symbol string // tag_index_avx2
	tier   tier
	code   []byte // code and constants, linked
	text   int    // length of the code part
	push   []push // prologue
	stack  int
	list   []string // LLVM's listing, for readers
}

// A tier is an instruction set that is detected at run time.
type tier struct {
	name     string // avx2
	ident    string // AVX2
	level    int    // value of simd.Level
	features string // for rustc
}

var tiers = map[string][]tier{
	"amd64": {
		{"sse42", "SSE42", 1, "+sse4.2,+popcnt,+pclmulqdq"},
		{"avx2", "AVX2", 2, "+avx2,+fma,+bmi1,+bmi2,+lzcnt,+popcnt,+pclmulqdq"},
		{"vclmul", "VCLMUL", 3, "+avx2,+fma,+bmi1,+bmi2,+lzcnt,+popcnt,+pclmulqdq,+vpclmulqdq"},
		{"avx512", "AVX512", 4,
			"+avx2,+fma,+bmi1,+bmi2,+lzcnt,+popcnt,+pclmulqdq,+avx512f," +
				"+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512vbmi,+avx512vbmi2,+vpclmulqdq,+gfni"},
	},
	"arm64": {{"neon", "NEON", 5, "+neon,+crc,+reserve-x18,+reserve-x28"}},
}

// record holds the kernel! macro's account of a kernel.
type record struct {
	symbol, mode string
	args         []arg
	rets         []string
}

const recordSize = 512

// parseRecords reads the .simdgen section.
func parseRecords(section []byte) ([]record, error) {
	if len(section)%recordSize != 0 {
		return nil,
			fmt.Errorf("section .simdgen has %d bytes, not a multiple of %d; use the kernel! macro of this simdgen",
				len(section), recordSize)
	}
	var recs []record
	for ; len(section) > 0; section = section[recordSize:] {
		text := string(bytes.TrimRight(section[:recordSize], "\x00"))
		r, err := parseRecord(strings.Split(strings.TrimSpace(text), "\n"))
		if err != nil {
			return nil, err
		}
		recs = append(recs, r)
	}
	return recs, nil
}

func parseRecord(lines []string) (record, error) {
	if len(lines) < 3 {
		return record{}, fmt.Errorf("signature record %q is too short; use the kernel! macro of this simdgen", lines)
	}
	r := record{symbol: lines[0], mode: lines[1]}
	for _, line := range lines[2 : len(lines)-1] {
		name, typ, _ := strings.Cut(line, " ")
		a := arg{name: lowerCamel(name), typ: typ}
		if t, ok := strings.CutPrefix(a.typ, "mut"); ok {
			a.typ, a.write = t, true
		}
		if t, ok := strings.CutPrefix(a.typ, "[]"); ok {
			a.typ, a.slice = t, true
		}
		r.args = append(r.args, a)
	}
	if rets := strings.TrimSpace(strings.TrimPrefix(lines[len(lines)-1], "->")); rets != "" {
		r.rets = strings.Split(rets, ",")
	}
	return r, r.check()
}

var modes = map[string]string{
	"first": "one slice first, one int result: index of the first hit, or the length",
	"sum":   "one slice first, one result: added up over chunks",
	"carry": "the state first, then one slice; the result is the next state",
	"map":   "slices of equal length, no result",
	"whole": "never cut into chunks; the caller bounds the work",
}

// check refuses signatures that could not be called safely.
func (r record) check() error {
	for _, a := range r.args {
		if a.typ == "unsafe.Pointer" || a.write && a.typ == "string" {
			return refuse(r.symbol, "pointer element type",
				"argument "+a.name+
					" would write or hold Go pointers behind the collector's back; pass numbers, or read a []string")
		}
	}
	if modes[r.mode] == "" {
		return refuse(r.symbol, "unknown mode", r.mode+"; use first, sum, carry, map or whole")
	}
	if !r.fits() {
		return refuse(r.symbol, "signature does not fit mode "+r.mode, modes[r.mode])
	}
	return nil
}

func (r record) fits() bool {
	n := 0
	for _, a := range r.args {
		if a.slice {
			n++
		}
	}
	first := len(r.args) > 0 && r.args[0].slice
	switch r.mode {
	case "first":
		return n == 1 && first && len(r.rets) == 1 && r.rets[0] == "int"
	case "sum":
		return n == 1 && first && len(r.rets) == 1
	case "carry":
		return n == 1 && len(r.args) > 1 && r.args[1].slice && len(r.rets) == 1 && r.rets[0] == r.args[0].typ
	case "map":
		return n >= 1 && len(r.rets) == 0
	}
	return n >= 1
}

// refuse makes the error for a kernel that simdgen will not ship.
func refuse(kernel, reason, detail string) error {
	return fmt.Errorf("kernel %s refused: %s: %s", kernel, reason, detail)
}

func lowerCamel(snake string) string {
	parts := strings.Split(snake, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// sizes of the scalar types, which are their alignments as well.
var sizes = map[string]int{
	"bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "float32": 4,
	"uint64": 8, "int64": 8, "float64": 8, "int": 8, "string": 16,
}

// slot is one word of the argument block.
type slot struct {
	name, typ string
	offset    int
}

// layout gives each parameter its place in Go's ABI0 argument block and the
// block's size.
func (f *family) layout() (slots []slot, size int) {
	at := 0
	put := func(name, typ string, size int) {
		at = (at + size - 1) &^ (size - 1)
		slots = append(slots, slot{name, typ, at})
		at += size
	}
	for _, a := range f.args {
		switch {
		case a.slice:
			put(a.name, "*"+a.typ, 8)
			put(a.name+"Len", "int", 8)
		case strings.HasPrefix(a.typ, "*"):
			put(a.name, a.typ, 8)
		default:
			put(a.name, a.typ, sizes[a.typ])
		}
	}
	if len(f.rets) > 0 {
		at = (at + 7) &^ 7
	}
	for i, r := range f.rets {
		put(retName(i, len(f.rets)), r, sizes[r])
	}
	return slots, at
}

func retName(i, n int) string {
	if n == 1 {
		return "ret"
	}
	return fmt.Sprintf("ret%d", i)
}
