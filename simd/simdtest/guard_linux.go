package simdtest

import (
	"os"
	"syscall"
)

// guards hands out regions between two pages that fault on any access.
type guards struct {
	regions [][]byte // each with its guard pages
	size    int
	page    int
	used    int
}

// newGuards maps four regions of the given size, enough for any kernel.
func newGuards(size int) (*guards, error) {
	g := &guards{size: size, page: os.Getpagesize()}
	g.size = (size + g.page - 1) &^ (g.page - 1)
	for range 4 {
		m, err := syscall.Mmap(-1, 0, g.size+2*g.page, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return nil, err
		}
		g.regions = append(g.regions, m)
		if err := syscall.Mprotect(m[:g.page], syscall.PROT_NONE); err != nil {
			return nil, err
		}
		if err := syscall.Mprotect(m[g.page+g.size:], syscall.PROT_NONE); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// next returns n bytes that end at a guard page, or start at one.
func (g *guards) next(n int, atStart bool) []byte {
	inner := g.regions[g.used][g.page : g.page+g.size]
	g.used++
	if atStart {
		return inner[:n:n]
	}
	return inner[g.size-n : g.size : g.size]
}

func (g *guards) close() {
	for _, m := range g.regions {
		syscall.Munmap(m)
	}
}
