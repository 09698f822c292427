package securewrite

import (
	"encoding/binary"
	"hash/crc32"
)

// SecureWrite reads short blocks twice: that costs less than arithmetic. The sum
// behind a long block is found by arithmetic, with the effect of 2, 4, 8, ...
// zero bytes on a checksum in tables.
func SecureWrite(running uint32, block []byte) (header [12]byte, total uint32) {
	sum := crc32.ChecksumIEEE(block)
	if len(block) < readTwice {
		total = crc32.Update(running, crc32.IEEETable, block)
	} else {
		total = shift(running, uint(len(block))) ^ sum
	}
	binary.LittleEndian.PutUint32(header[0:], uint32(len(block)))
	binary.LittleEndian.PutUint32(header[4:], sum)
	binary.LittleEndian.PutUint32(header[8:], total)
	return header, total
}

// readTwice is the length below which a second look at the block is quicker.
const readTwice = 2048

// shift returns the checksum of a text with n zero bytes behind it, without the
// effect of the zero bytes' own inversions: a linear function.
func shift(crc uint32, n uint) uint32 {
	for k := 0; n != 0 && crc != 0; k++ {
		if n&1 == 1 {
			t := &zeros[k&63]
			crc = t[0][crc&15] ^ t[1][crc>>4&15] ^ t[2][crc>>8&15] ^ t[3][crc>>12&15] ^
				t[4][crc>>16&15] ^ t[5][crc>>20&15] ^ t[6][crc>>24&15] ^ t[7][crc>>28]
		}
		n >>= 1
	}
	return crc
}

// zeros holds what 2 to the power of k zero bytes make of each nibble of a
// checksum.
var zeros = func() (z [64][8][16]uint32) {
	byBit := func(t *[8][16]uint32, effect func(uint32) uint32) {
		for i := range t {
			for v := range t[i] {
				t[i][v] = effect(uint32(v) << (4 * i))
			}
		}
	}
	byBit(&z[0], func(crc uint32) uint32 { return crc32.IEEETable[byte(crc)] ^ crc>>8 })
	for k := 1; k < len(z); k++ {
		once := func(crc uint32) (sum uint32) {
			for i := range 8 {
				sum ^= z[k-1][i][crc>>(4*i)&15]
			}
			return sum
		}
		byBit(&z[k], func(crc uint32) uint32 { return once(once(crc)) })
	}
	return z
}()
