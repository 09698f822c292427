package simd

import "os"

// A Level is an instruction set that the kernels may use. Levels of different
// architectures do not compare.
type Level uint8

const (
	PureGo Level = 0 // no assembly at all
	SSE42  Level = 1 // SSE4.2, POPCNT, PCLMULQDQ
	AVX2   Level = 2 // AVX2, FMA, BMI1, BMI2, LZCNT
	VCLMUL Level = 3 // AVX2 and VPCLMULQDQ on 32 bytes
	AVX512 Level = 4 // F, BW, CD, DQ, VL, VBMI, VBMI2, VPCLMULQDQ, GFNI
	NEON   Level = 5 // arm64: ASIMD and CRC32
)

var levelNames = [...]string{"purego", "sse42", "avx2", "vclmul", "avx512", "neon"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "unknown"
}

// tier is what the dispatchers compare with. It is set once, before any
// package that imports this one runs.
var tier = choose(detect(), os.Getenv("SIMD_MAX"))

// Tier returns the instruction set in use: the best one that the processor
// and the operating system offer, lowered by the environment variable
// SIMD_MAX=purego|sse42|avx2|vclmul|avx512|neon. A name that is not one of these, or that belongs
// to another architecture, lowers it to PureGo: a user who sets a limit wants less, not more.
func Tier() Level { return tier }

func choose(have Level, limit string) Level {
	if limit == "" {
		return have
	}
	for l, name := range levelNames {
		if name != limit {
			continue
		}
		if max := Level(l); (max == NEON) == (have == NEON) {
			return min(have, max)
		}
	}
	return PureGo
}
