//go:build linux

package uprobe

import (
	"encoding/binary"
	"errors"
)

// An event is the kernel's copy of one call.
type event struct {
	time    uint64 // monotonic, in nanoseconds
	g       uint64 // address of the goroutine
	site    int
	results bool // of a return, not of an entry
	number  uint64
	over    uint64 // references for which there was no room
	faults  uint64 // reads that failed
	spent   uint64 // nanoseconds that the copy took
	image   []byte // registers and stack
	memory  memory
}

// memory is copied memory by its address.
type memory map[uint64][]byte

// read returns the copied part of n bytes at an address: the beginning, or nothing.
func (m memory) read(at, n uint64) []byte {
	b := m[at]
	return b[:min(uint64(len(b)), n)]
}

var errEvent = errors.New("unreadable event from the kernel")

// readEvent reads a slot as the kernel's program left it. The memory of the event refers to b.
func readEvent(b []byte) (*event, error) {
	if len(b) < slotData+chunkHead {
		return nil, errEvent
	}
	// Read the head.
	le := binary.LittleEndian
	field := func(at int) uint64 { return le.Uint64(b[at:]) }
	cookie, used := field(slotCookie), field(slotUsed)
	e := &event{time: field(slotTime), g: field(slotG), site: int(uint32(cookie)), results: cookie&atReturn != 0,
		number: field(slotNumber), over: field(slotOver), faults: field(slotFaults), spent: field(slotSpent),
		memory: memory{}}
	data := b[slotData:]
	if used > uint64(len(data)) || e.site >= maxSites {
		return nil, errEvent
	}
	data = data[:used]
	// Read the chunks of memory: the image first. The longer of two chunks at one address counts.
	for first := true; len(data) > 0; first = false {
		if len(data) < chunkHead {
			return nil, errEvent
		}
		address, n := le.Uint64(data[chunkAddress:]), uint64(le.Uint32(data[chunkLen:]))
		rest := data[chunkHead:]
		if n > uint64(len(rest)) {
			return nil, errEvent
		}
		switch {
		case first:
			e.image = rest[:n:n]
		case len(e.memory[address]) < int(n):
			e.memory[address] = rest[:n:n]
		}
		data = rest[min(roundUp(int(n), 8), len(rest)):]
	}
	if len(e.image) < imageRegisters {
		return nil, errEvent
	}
	return e, nil
}
