// Package tablecrc checks messages with a CRC-32 (IEEE), a byte at a time from
// a table, as textbooks show it.
package tablecrc

// Checksum returns the CRC-32 of a message.
func Checksum(data []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range data {
		crc = crcTable[byte(crc)^b] ^ crc>>8
	}
	return ^crc
}

var crcTable = makeTable(0xedb88320)

func makeTable(polynomial uint32) []uint32 {
	table := make([]uint32, 256)
	for i := range table {
		crc := uint32(i)
		for range 8 {
			if crc&1 == 1 {
				crc = crc>>1 ^ polynomial
			} else {
				crc >>= 1
			}
		}
		table[i] = crc
	}
	return table
}
