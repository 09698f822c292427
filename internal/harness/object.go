package harness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An object reads the compiler's output for one package: code and data by symbol, with references
// by name. The format is that of cmd/internal/goobj in the Go distribution, unchanged since Go
// 1.20.
type object struct {
	b     []byte
	block [objBlocks + 1]uint32
	names map[symRef]string // of referenced symbols in other packages
	pkgs  int
}

// A symRef names a symbol: a package or a kind, and an index in it.
type symRef struct{ pkg, sym uint32 }

const (
	objMagic  = "\x00go120ld"
	objBlocks = 18
	symSize   = 21
	relocSize = 23
)

// Blocks of the file, in order.
const (
	blkAutolib = iota
	blkPkgIdx
	blkFile
	blkSymdef
	blkHashed64def
	blkHasheddef
	blkNonpkgdef
	blkNonpkgref
	blkRefFlags
	blkHash64
	blkHash
	blkRelocIdx
	blkAuxIdx
	blkDataIdx
	blkReloc
	blkAux
	blkData
	blkRefName
)

// Values of symRef.pkg that are no package.
const (
	pkgNone = 1<<31 - 1 - iota
	pkgHashed64
	pkgHashed
	pkgBuiltin
	pkgSelf
)

// A symbol is a definition in this object.
type symbol struct {
	name string
	text bool
	size int
}

// A reloc is a place in a symbol's bytes that the linker fills in.
type reloc struct {
	off  int32
	size uint8
	kind uint16
	add  int64
	sym  symRef
}

var errObject = errors.New("the compiler's object format is unknown")

// readObject finds the object in an archive as `compile -pack` writes it.
func readObject(archive []byte) (o *object, err error) {
	defer func() {
		if r := recover(); r != nil { // an index out of range: not the format that this reader knows
			o, err = nil, fmt.Errorf("%w: %v", errObject, r)
		}
	}()
	i := bytes.Index(archive, []byte("\n!\n"+objMagic))
	if i < 0 {
		return nil, errObject
	}
	o = &object{b: archive[i+3:], names: map[symRef]string{}}
	at := len(objMagic) + 8 + 4
	for k := range objBlocks + 1 {
		o.block[k] = o.u32(uint32(at + 4*k))
	}
	o.pkgs = o.count(blkPkgIdx, 8)
	for k := range o.count(blkRefName, 16) {
		at := o.block[blkRefName] + uint32(k)*16
		o.names[symRef{o.u32(at), o.u32(at + 4)}] = o.str(at + 8)
	}
	return o, nil
}

func (o *object) u32(at uint32) uint32 { return binary.LittleEndian.Uint32(o.b[at:]) }

// str reads a string reference: length, offset.
func (o *object) str(at uint32) string {
	n, off := o.u32(at), o.u32(at+4)
	return string(o.b[off : off+n])
}

func (o *object) count(block int, size uint32) int {
	return int((o.block[block+1] - o.block[block]) / size)
}

// defs returns how many symbols the object defines.
func (o *object) defs() int {
	return int((o.block[blkNonpkgref] - o.block[blkSymdef]) / symSize)
}

func (o *object) symbol(i int) symbol {
	at := o.block[blkSymdef] + uint32(i)*symSize
	kind := o.b[at+10]
	return symbol{name: o.str(at), text: kind == 1 || kind == 2, size: int(o.u32(at + 13))}
}

// index turns a reference into the index of a definition in this object; -1
// when another package defines it.
func (o *object) index(r symRef) int {
	base := func(block int) int { return int((o.block[block] - o.block[blkSymdef]) / symSize) }
	i := -1
	switch r.pkg {
	case pkgSelf:
		i = int(r.sym)
	case pkgHashed64:
		i = base(blkHashed64def) + int(r.sym)
	case pkgHashed:
		i = base(blkHasheddef) + int(r.sym)
	case pkgNone:
		i = base(blkNonpkgdef) + int(r.sym)
	}
	if i >= o.defs() {
		return -1
	}
	return i
}

// refName names a symbol that this object does not define.
func (o *object) refName(r symRef) string {
	switch {
	case r.pkg == pkgBuiltin:
		return "builtin " + strconv.Itoa(int(r.sym))
	case r.pkg == pkgNone:
		return o.str(o.block[blkSymdef] + uint32(o.index0(r))*symSize)
	}
	if n, ok := o.names[r]; ok {
		return n
	}
	if int(r.pkg) < o.pkgs {
		return o.str(o.block[blkPkgIdx]+r.pkg*8) + " " + strconv.Itoa(int(r.sym))
	}
	return ""
}

// index0 returns the position of a non-package symbol in the table that holds definitions and then
// references.
func (o *object) index0(r symRef) int {
	return int((o.block[blkNonpkgdef]-o.block[blkSymdef])/symSize) + int(r.sym)
}

func (o *object) data(i int) []byte {
	at := o.block[blkDataIdx] + uint32(i)*4
	base := o.block[blkData]
	return o.b[base+o.u32(at) : base+o.u32(at+4)]
}

func (o *object) relocs(i int) []reloc {
	at := o.block[blkRelocIdx] + uint32(i)*4
	var out []reloc
	for k := o.u32(at); k < o.u32(at+4); k++ {
		r := o.b[o.block[blkReloc]+k*relocSize:]
		out = append(out, reloc{
			off: int32(binary.LittleEndian.Uint32(r)), size: r[4], kind: binary.LittleEndian.Uint16(r[5:]),
			add: int64(binary.LittleEndian.Uint64(r[7:])),
			sym: symRef{binary.LittleEndian.Uint32(r[15:]), binary.LittleEndian.Uint32(r[19:])},
		})
	}
	return out
}

// owned reports whether a symbol belongs to the version with that suffix.
func owned(name, sfx string) bool {
	for {
		i := strings.Index(name, sfx)
		if i < 0 {
			return false
		}
		name = name[i+len(sfx):]
		if name == "" || name[0] < '0' || name[0] > '9' {
			return true
		}
	}
}
