package kit

import "encoding/binary"

// Load64 is the word in the first eight bytes of s, lowest byte first.
func Load64(s string) uint64 {
	_ = s[7] // one check for all
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// FirstBytes is the first eight bytes of b as a word, lowest byte first; where there
// are fewer, the others are 0.
func FirstBytes(b []byte) uint64 {
	switch n := uint(len(b)); {
	case n >= 8:
		return binary.LittleEndian.Uint64(b)
	case n >= 4: // the loads overlap
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}

// FirstBytesOf is the first eight bytes of b as a word, lowest byte first; where there
// are fewer, the others are 0.
func FirstBytesOf(b string) uint64 {
	switch n := uint(len(b)); {
	case n >= 8:
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
	case n >= 4: // the loads overlap
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			(uint64(b[n-4])|uint64(b[n-3])<<8|uint64(b[n-2])<<16|uint64(b[n-1])<<24)<<(8*(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}

// FirstBytesIn is the first eight bytes of b as a word, lowest byte first; where there
// are fewer, the others are 0.
func FirstBytesIn[T ~string | ~[]byte](b T) uint64 {
	switch n := uint(len(b)); {
	case n >= 8:
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
	case n >= 4: // the loads overlap
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			(uint64(b[n-4])|uint64(b[n-3])<<8|uint64(b[n-2])<<16|uint64(b[n-1])<<24)<<(8*(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}
