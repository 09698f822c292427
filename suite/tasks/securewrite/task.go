// Package securewrite makes the headers of blocks in a stream whose every byte
// is under two checksums: that of its block, and that of the stream so far.
package securewrite

import (
	"encoding/binary"
	"hash/crc32"
)

// SecureWrite returns the header of a block (its length, its checksum and the
// stream's, four bytes each) and the stream's checksum with the block. It reads
// the block once, and finds the stream's sum from the two by arithmetic.
func SecureWrite(running uint32, block []byte) (header [12]byte, total uint32) {
	sum := crc32.ChecksumIEEE(block)
	total = combine(running, sum, len(block))
	binary.LittleEndian.PutUint32(header[0:], uint32(len(block)))
	binary.LittleEndian.PutUint32(header[4:], sum)
	binary.LittleEndian.PutUint32(header[8:], total)
	return header, total
}

// combine returns the checksum of two texts, one behind the other, from their
// checksums and the length of the second: crc32_combine of zlib. Zeros behind a
// text multiply its checksum with a matrix over GF(2).
func combine(first, second uint32, length int) uint32 {
	if length <= 0 {
		return first
	}
	var odd, even [32]uint32
	odd[0] = crc32.IEEE // for one zero bit
	row := uint32(1)
	for i := 1; i < 32; i++ {
		odd[i] = row
		row <<= 1
	}
	square(&even, &odd) // two zero bits
	square(&odd, &even) // four
	for {
		square(&even, &odd)
		if length&1 == 1 {
			first = times(&even, first)
		}
		length >>= 1
		if length == 0 {
			break
		}
		square(&odd, &even)
		if length&1 == 1 {
			first = times(&odd, first)
		}
		length >>= 1
		if length == 0 {
			break
		}
	}
	return first ^ second
}

func times(matrix *[32]uint32, vector uint32) uint32 {
	var sum uint32
	for i := 0; vector != 0; i++ {
		if vector&1 == 1 {
			sum ^= matrix[i]
		}
		vector >>= 1
	}
	return sum
}

func square(to, from *[32]uint32) {
	for i := range to {
		to[i] = times(from, from[i])
	}
}
