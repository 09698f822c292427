package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// assembled builds the package's tests for each architecture and compares the
// kernels in the binary with the linked blocks. It returns how many agree. The
// mnemonics of a prologue are the one place where they could differ.
func (p *pkg) assembled(dir string) (int, error) {
	tmp, err := os.MkdirTemp("", "simdgen")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tmp)
	n := 0
	for _, arch := range p.arches {
		binary := filepath.Join(tmp, arch)
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", binary, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("building %s for %s: %v\n%s", dir, arch, err, out)
		}
		k, err := p.compare(binary, arch)
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

// compare checks the bytes of all kernels in a test binary against LLVM's. It returns their number.
func (p *pkg) compare(binary, arch string) (int, error) {
	// Read the program's symbols and its code.
	f, err := elf.Open(binary)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		return 0, err
	}
	// Look each kernel up, and compare its bytes with those of LLVM.
	n := 0
	for _, fam := range p.families {
		for _, k := range fam.tiers[arch] {
			at, ok := find(syms, "."+fam.name+k.tier.ident)
			if !ok {
				return 0, fmt.Errorf("kernel %s is not in the test binary for %s", k.symbol, arch)
			}
			if !bytes.HasPrefix(code[int(at-text.Addr)+bias[arch]:], k.code) {
				return 0, fmt.Errorf("kernel %s: the Go assembler's bytes for %s are not LLVM's", k.symbol, arch)
			}
			n++
		}
	}
	return n, nil
}

func find(syms []elf.Symbol, suffix string) (uint64, bool) {
	for _, s := range syms {
		if strings.HasSuffix(strings.TrimSuffix(s.Name, ".abi0"), suffix) {
			return s.Value, true
		}
	}
	return 0, false
}
