//go:build !darwin

package bench

import (
	"debug/elf"
	"errors"
)

// functionTable reads the pc-line table and the address of the code. A harness runs on the machine
// that built it, so Beagle knows the form of programs of its own system alone.
func functionTable(program string) (table []byte, text uint64, err error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	code := f.Section(".text")
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"} {
		if s := f.Section(name); s != nil && code != nil {
			table, err := s.Data()
			return table, code.Addr, err
		}
	}
	return nil, 0, errors.New("it has no .gopclntab section")
}
