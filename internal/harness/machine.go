package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// A Machine is a kind of machine to build for besides the toolchain's own.
type Machine struct {
	GOARCH string
	Doc    string // its differences
	qemu   string // its name there; "" when programs run without
}

// Machines are the other machines on which versions are compared. On the first one a program for
// amd64 needs no emulation.
var Machines = []Machine{
	{"386", "int has 32 bits", "i386"},
	{"s390x", "the first byte of a word is the highest", "s390x"},
	{"arm64", "other instructions, and a weaker order of memory", "aarch64"},
}

// ErrElsewhere says that the original does not build for another machine.
var ErrElsewhere = errors.New("the original does not build for it")

// ErrNoMachine says that programs for another machine cannot run here.
var ErrNoMachine = errors.New("such programs do not run here")

// Emulator finds the program that runs the machine's programs: "" if they run as they are. The
// error names the missing program.
func (m Machine) Emulator(native bool) (string, error) {
	if native {
		return "", nil
	}
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("%w: emulation of single programs is for Linux", ErrNoMachine)
	}
	name := "qemu-" + m.qemu + "-static"
	path, err := exec.LookPath(name) // the other kind needs the system's libraries, which the sandbox does not show
	if err != nil {
		return "", fmt.Errorf("%w: %s is not installed (package qemu-user-static)", ErrNoMachine, name)
	}
	return filepath.Abs(path)
}

// otherMachine returns a builder for another machine, or why there is none.
type otherMachine struct {
	b   *Builder
	err error
}

// ForMachine returns the builder for another machine with the same target. It is made once. Errors
// that are ErrElsewhere or ErrNoMachine say why there is none; others are the machinery's.
func (b *Builder) ForMachine(ctx context.Context, m Machine) (*Builder, error) {
	b.elseMu.Lock()
	defer b.elseMu.Unlock()
	if e, ok := b.otherMachines[m.GOARCH]; ok {
		return e.b, e.err
	}
	other, err := b.makeOn(ctx, m)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if b.otherMachines == nil {
		b.otherMachines = map[string]otherMachine{}
	}
	b.otherMachines[m.GOARCH] = otherMachine{other, err}
	return other, err
}

// makeOn makes a builder for another machine, if it differs from this one and can be emulated.
func (b *Builder) makeOn(ctx context.Context, m Machine) (*Builder, error) {
	if m.GOARCH == b.tools.GOARCH {
		return nil, fmt.Errorf("%w: it is this one", ErrNoMachine)
	}
	emulator, err := m.Emulator(b.box.Runs(m.GOARCH))
	if err != nil {
		return nil, err
	}
	tools := *b.tools
	tools.GOARCH, tools.cgo = m.GOARCH, false
	other := &Builder{
		u: b.u, target: b.target, box: b.box, dir: filepath.Join(b.dir, "on-"+m.GOARCH), tools: &tools,
		copies: b.copies,
		frame:  b.frame, original: b.original, worlds: map[string]*world{}, machine: m.GOARCH, emulator: emulator,
	}
	w, err := other.world(ctx, "off")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrElsewhere, err)
	}
	if err := other.selectFiles(w.pkgs[b.target.PkgPath]); err != nil {
		return nil, err
	}
	return other, nil
}

// selectFiles finds the package's files on the machine: their names and their
// build constraints may tell machines apart.
func (b *Builder) selectFiles(p *listed) error {
	here := map[string]bool{}
	for _, path := range b.u.Package.Files() {
		here[path] = true
	}
	known := false
	for _, name := range p.GoFiles {
		path := filepath.Join(b.target.PkgDir, name)
		known = known || path == b.target.File
		switch stand := b.copies[path]; {
		case stand != "":
			b.files = append(b.files, stand)
		case !here[path] && len(b.copies) > 0:
			return fmt.Errorf("%w: its package main has a file of its own there, %s", ErrElsewhere, name)
		default:
			b.files = append(b.files, path)
		}
	}
	if !known {
		return fmt.Errorf("%w: the file %s is not compiled there", ErrElsewhere, filepath.Base(b.target.File))
	}
	return nil
}

// emulated has a command for another machine run there, or in its emulator.
func (bin *Binary) emulated(path string) (machine, program string, args, read []string) {
	switch {
	case bin.machine == "":
		return "", path, nil, nil
	case bin.emulator == "":
		return bin.machine, path, nil, nil
	}
	return "", bin.emulator, []string{path}, []string{path}
}

// Machine returns the GOARCH that the program is for when it is not the toolchain's own.
func (bin *Binary) Machine() string { return bin.machine }
