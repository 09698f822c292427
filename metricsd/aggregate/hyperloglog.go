package aggregate

import (
	"math"
	"math/bits"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// hllBits gives 4096 registers: 4 KB a set, standard error 1.04/sqrt(4096) = 1.6 %.
const hllBits = 12

// hyperLogLog estimates how many different strings it has seen. The estimator is
// Ertl's ("New cardinality estimation algorithms for HyperLogLog sketches", 2017,
// algorithm 6): it needs no table of corrections and has no jump where others
// change from one formula to the next.
type hyperLogLog struct {
	registers [1 << hllBits]uint8
}

func (h *hyperLogLog) add(s string) {
	hash := murmur3.Sum64(s, 0)
	index := hash >> (64 - hllBits)
	rank := uint8(bits.LeadingZeros64(hash<<hllBits|1<<(hllBits-1)) + 1)
	h.registers[index] = max(h.registers[index], rank)
}

func (h *hyperLogLog) estimate() float64 {
	const m, q = float64(1 << hllBits), 64 - hllBits
	var counts [q + 2]float64
	for _, r := range h.registers {
		counts[r]++
	}
	z := m * tau(1-counts[q+1]/m)
	for k := q; k >= 1; k-- {
		z = (z + counts[k]) / 2
	}
	z += m * sigma(counts[0]/m)
	return math.Round(m * m / (2 * math.Ln2 * z))
}

// sigma corrects for registers that are still empty.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		was := z
		z += x * y
		y += y
		if z == was {
			return z
		}
	}
}

// tau corrects for registers that are full.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		was := z
		y /= 2
		z -= (1 - x) * (1 - x) * y
		if z == was {
			return z / 3
		}
	}
}
