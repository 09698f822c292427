//go:build linux

package uprobe

import (
	"debug/buildinfo"
	"debug/dwarf"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle/probe/wire"
)

// A Binary is the executable of a running process, with its functions.
type Binary struct {
	PID   int
	Path  string // by which the kernel finds the file, also in another mount namespace
	name  string // of the program's file; it is gone with the process
	info  *buildinfo.BuildInfo
	elf   *elf.File
	dbg   *dwarf.Data // nil when the file has no DWARF
	types *types      // that were read so far
}

// Open reads the executable of a process. symbols names an unstripped build of the same program;
// "" means that the executable has its own types.
func Open(pid int, symbols string) (*Binary, error) {
	b := &Binary{PID: pid, Path: fmt.Sprintf("/proc/%d/exe", pid)}
	f, err := os.Open(b.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("no process has the number %d", pid)
	case err != nil:
		return nil, fmt.Errorf("process %d: %w: only its user and root may read its executable", pid, err)
	}
	if exe, err := os.Readlink(b.Path); err == nil {
		b.name = strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	}
	if b.info, err = buildinfo.Read(f); err != nil {
		return nil, fmt.Errorf("process %d runs no Go program: %w", pid, err)
	}
	if b.elf, err = elf.NewFile(f); err != nil {
		return nil, fmt.Errorf("process %d: its executable is not ELF: %w", pid, err)
	}
	if b.elf.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("process %d is built for %v: uprobes are read on amd64 only; beagle build works there",
			pid, b.elf.Machine)
	}
	if symbols != "" {
		b.dbg, err = b.twin(symbols)
	} else {
		b.dbg, err = dwarfOf(b.elf)
	}
	return b, err
}

// dwarfOf returns the DWARF of a file, or nil when it has none.
func dwarfOf(f *elf.File) (*dwarf.Data, error) {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s := f.Section(name); s != nil && s.Type != elf.SHT_NOBITS {
			d, err := f.DWARF()
			if err != nil {
				return nil, fmt.Errorf("the DWARF of the executable: %w", err)
			}
			return d, nil
		}
	}
	return nil, nil
}

// twin returns the DWARF of another file, if that has the same code.
func (b *Binary) twin(path string) (*dwarf.Data, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--symbols: %w", err)
	}
	d, err := dwarfOf(f)
	if err != nil {
		return nil, fmt.Errorf("--symbols %s: %w", path, err)
	}
	if d == nil {
		return nil, fmt.Errorf("--symbols %s has no DWARF either: build it without -ldflags=-s or -w", path)
	}
	if err := sameCode(b.elf, f); err != nil {
		return nil, fmt.Errorf("--symbols %s is another program than process %d runs: %w; build it from the same "+
			"commit with the same toolchain and flags, except -ldflags=-s or -w", path, b.PID, err)
	}
	return d, nil
}

// receivers takes the parentheses of pointer receivers away.
var receivers = strings.NewReplacer("(*", "", ")", "")

// plainName returns a function's name as sites have it: import path, type and function, joined by
// dots.
func (b *Binary) plainName(symbol string) string {
	name := receivers.Replace(plainSymbol(symbol))
	if rest, ok := strings.CutPrefix(name, "main."); ok && b.info.Path != "" {
		return b.info.Path + "." + rest
	}
	return name
}

// functionsOf returns the table of functions that every Go program carries for its stack traces.
func functionsOf(f *elf.File) (*gosym.Table, error) {
	text := f.Section(".text")
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		s := f.Section(name)
		if s == nil || text == nil {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		return gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	}
	return nil, errors.New("the executable has no table of functions")
}

// listed are names of functions with code in the executable, by the table of stack traces.
func (b *Binary) listed(want string) (names []string) {
	t, err := functionsOf(b.elf)
	if err != nil {
		return nil
	}
	for i := range t.Funcs {
		name := b.plainName(t.Funcs[i].Name)
		if cut, _, generic := strings.Cut(name, "["); wire.Matches(want, name) || generic && wire.Matches(want, cut) {
			names = append(names, name)
		}
	}
	return names
}

// code reads machine code at an address of the file.
func (b *Binary) code(low, high uint64) ([]byte, error) {
	for _, s := range b.elf.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 && low >= s.Addr && high <= s.Addr+s.Size {
			text := make([]byte, high-low)
			_, err := s.ReadAt(text, int64(low-s.Addr))
			return text, err
		}
	}
	return nil, fmt.Errorf("no code at %#x", low)
}

// offset returns the file offset of an address. The kernel finds code by it, wherever it is loaded.
func (b *Binary) offset(address uint64) (uint64, error) {
	for _, p := range b.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && address >= p.Vaddr && address < p.Vaddr+p.Filesz {
			return address - p.Vaddr + p.Off, nil
		}
	}
	return 0, fmt.Errorf("address %#x is in no executable segment", address)
}

// process describes the process for the controller.
func (b *Binary) process() wire.Process {
	p := wire.Process{PID: b.PID, Raw: true, Go: b.info.GoVersion, Way: Way}
	p.Host, _ = os.Hostname()
	p.Program = b.name
	p.Main = strings.TrimSuffix(b.info.Path+"@"+b.info.Main.Version, "@")
	for _, set := range b.info.Settings {
		switch {
		case set.Key == "vcs.revision":
			p.Build = set.Value + p.Build
		case set.Key == "vcs.modified" && set.Value == "true":
			p.Build += "+"
		}
	}
	return p
}

// Way is a status's description of how a process is captured.
const Way = "uprobe"
