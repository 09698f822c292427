package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
)

// readRecords returns the signature records of an object.
func readRecords(path string) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []byte
	for _, s := range f.Sections { // one per module, or one for all
		if !strings.HasPrefix(s.Name, ".simdgen") {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no kernels found; declare them with kernel! { name_tier, mode, fn(...) -> T { ... } }")
	}
	return all, nil
}

// bias is the distance from the TEXT symbol, which is 64-byte aligned, to the
// first byte of the kernel: the instruction that computes the argument
// pointer, after a no-op on amd64 so that LLVM's 16-byte loop alignment holds.
var bias = map[string]int{"amd64": 16, "arm64": 4}

// A linker lays the code and the constants of one kernel out as one block and
// resolves every relocation inside it, so that nothing is left to any other
// linker.
type linker struct {
	kernel string
	arch   string
	file   *elf.File
	syms   []elf.Symbol
	place  map[int]int // section index -> offset in the block
	queue  []int
	block  []byte
}

// link returns the block and the length of its code part.
func link(path, kernel, arch string) (block []byte, text int, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	l := &linker{kernel: kernel, arch: arch, file: f, place: map[int]int{}}
	if l.syms, err = f.Symbols(); err != nil {
		return nil, 0, err
	}
	code, err := l.code()
	if err != nil {
		return nil, 0, err
	}
	if err := l.add(code); err != nil {
		return nil, 0, err
	}
	text = len(l.block)
	for len(l.queue) > 0 {
		next := l.queue[0]
		l.queue = l.queue[1:]
		if err := l.resolve(next); err != nil {
			return nil, 0, err
		}
	}
	return l.block, text, l.checkWritable()
}

// code finds the kernel's own section.
func (l *linker) code() (int, error) {
	for i, s := range l.file.Sections {
		if s.Name == ".text."+l.kernel {
			return i, nil
		}
	}
	return 0, refuse(l.kernel, "no code", "the object has no section .text."+l.kernel)
}

// checkWritable refuses data that a program could write, reached or not.
func (l *linker) checkWritable() error {
	for _, s := range l.file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_WRITE != 0 && s.Size > 0 {
			return refuse(l.kernel, "writable data",
				"section "+s.Name+"; keep state in arguments and constants in statics without interior mutability")
		}
	}
	return nil
}

// add appends a section at its alignment and queues its relocations.
func (l *linker) add(index int) error {
	s := l.file.Sections[index]
	data, err := s.Data()
	if err != nil {
		return err
	}
	align := max(int(s.Addralign), 1)
	if align > 64 {
		return refuse(l.kernel, "alignment above 64", fmt.Sprintf("section %s wants %d", s.Name, align))
	}
	for (len(l.block)+bias[l.arch])%align != 0 {
		l.block = append(l.block, 0)
	}
	l.place[index] = len(l.block)
	l.block = append(l.block, data...)
	l.queue = append(l.queue, index)
	return nil
}

// resolve applies the relocations of a section. Undefined symbols come first:
// they are the reason an author can act on.
func (l *linker) resolve(index int) error {
	for _, step := range []func(int, []byte) error{l.defined, l.apply} {
		for _, s := range l.file.Sections {
			if s.Type != elf.SHT_RELA || int(s.Info) != index {
				continue
			}
			data, err := s.Data()
			if err != nil {
				return err
			}
			for ; len(data) >= 24; data = data[24:] {
				if err := step(index, data[:24]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// defined refuses a relocation against something that the object lacks.
func (l *linker) defined(_ int, rela []byte) error {
	sym := l.syms[binary.LittleEndian.Uint64(rela[8:])>>32-1]
	switch {
	case sym.Section == elf.SHN_UNDEF && strings.Contains(sym.Name, "panic"):
		return refuse(l.kernel, "panic path",
			"calls "+sym.Name+"; use get_unchecked or pointers where the bounds are proven")
	case sym.Section == elf.SHN_UNDEF:
		return refuse(l.kernel, "undefined symbol", sym.Name+"; a kernel has nothing to link against")
	}
	return nil
}

// apply resolves one Elf64_Rela.
func (l *linker) apply(index int, rela []byte) error {
	le := binary.LittleEndian
	info := le.Uint64(rela[8:])
	target, err := l.target(l.syms[info>>32-1])
	if err != nil {
		return err
	}
	at := l.place[index] + int(le.Uint64(rela))
	delta := target + int(int64(le.Uint64(rela[16:]))) - at
	if !patch(l.arch, uint32(info), l.block[at:], delta) {
		return refuse(l.kernel, "unknown relocation",
			relocName(l.arch, uint32(info))+" against "+l.symbolName(l.syms[info>>32-1]))
	}
	return nil
}

// target returns the block offset of a symbol, adding its section on first use.
func (l *linker) target(sym elf.Symbol) (int, error) {
	name := l.symbolName(sym)
	if int(sym.Section) >= len(l.file.Sections) {
		return 0, refuse(l.kernel, "unknown relocation", "symbol "+name+" has no section")
	}
	i := int(sym.Section)
	if s := l.file.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 && s.Name != ".text."+l.kernel {
		return 0, refuse(l.kernel, "calls", name+" was not inlined; mark it #[inline(always)]")
	}
	if _, ok := l.place[i]; !ok {
		if err := l.add(i); err != nil {
			return 0, err
		}
	}
	return l.place[i] + int(sym.Value), nil
}

func (l *linker) symbolName(sym elf.Symbol) string {
	if sym.Name == "" && int(sym.Section) < len(l.file.Sections) {
		return l.file.Sections[sym.Section].Name
	}
	return sym.Name
}

// patch writes a PC-relative distance; false means the relocation is not one
// that can be resolved inside the block.
func patch(arch string, typ uint32, at []byte, delta int) bool {
	le := binary.LittleEndian
	switch {
	case arch == "amd64" && (elf.R_X86_64(typ) == elf.R_X86_64_PC32 || elf.R_X86_64(typ) == elf.R_X86_64_PLT32),
		arch == "arm64" && elf.R_AARCH64(typ) == elf.R_AARCH64_PREL32:
		le.PutUint32(at, uint32(delta))
		return delta == int(int32(delta))
	case arch == "arm64" && elf.R_AARCH64(typ) == elf.R_AARCH64_ADR_PREL_LO21:
		w := le.Uint32(at) &^ (3<<29 | 0x7ffff<<5)
		le.PutUint32(at, w|uint32(delta&3)<<29|uint32(delta>>2&0x7ffff)<<5)
		return -1<<20 <= delta && delta < 1<<20
	case arch == "arm64" && elf.R_AARCH64(typ) == elf.R_AARCH64_LD_PREL_LO19:
		w := le.Uint32(at) &^ (0x7ffff << 5)
		le.PutUint32(at, w|uint32(delta>>2&0x7ffff)<<5)
		return delta&3 == 0 && -1<<20 <= delta && delta < 1<<20
	}
	return false
}

func relocName(arch string, typ uint32) string {
	if arch == "arm64" {
		return elf.R_AARCH64(typ).String()
	}
	return elf.R_X86_64(typ).String()
}

// sortedKeys keeps every walk over a map in one order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
