package bench

import (
	"debug/macho"
	"errors"
)

// functionTable reads the pc-line table and the address of the code.
func functionTable(program string) (table []byte, text uint64, err error) {
	f, err := macho.Open(program)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	s, code := f.Section("__gopclntab"), f.Section("__text")
	if s == nil || code == nil {
		return nil, 0, errors.New("it has no __gopclntab section")
	}
	table, err = s.Data()
	return table, code.Addr, err
}
