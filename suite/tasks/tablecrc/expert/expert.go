package tablecrc

import "hash/crc32"

// Checksum is the library's: the table is that of the IEEE polynomial, for which
// it multiplies without carries where the processor can, and else takes eight
// bytes at a time.
func Checksum(data []byte) uint32 { return crc32.ChecksumIEEE(data) }
