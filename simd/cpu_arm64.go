//go:build !purego

package simd

import (
	"encoding/binary"
	"os"
	"runtime"
)

// detect asks for ASIMD, which every arm64 system of Go has, and CRC32, which
// ARMv8.0 left optional. Where the system does not say, the answer is no.
func detect() Level {
	switch runtime.GOOS {
	case "darwin", "ios", "windows":
		return NEON
	case "linux", "android":
		auxv, _ := os.ReadFile("/proc/self/auxv")
		return fromAuxv(auxv)
	}
	return PureGo
}

// fromAuxv reads AT_HWCAP: pairs of words, tag and value.
func fromAuxv(auxv []byte) Level {
	const atHWCAP, asimdAndCRC = 16, 1<<1 | 1<<7
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == atHWCAP &&
			binary.LittleEndian.Uint64(auxv[8:])&asimdAndCRC == asimdAndCRC {
			return NEON
		}
	}
	return PureGo
}
