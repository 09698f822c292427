package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle/metricsd/murmur3"
	"github.com/beagle-go/beagle/simd/crc"
	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// A hashFunction gives a tag 64 bits.
type hashFunction struct {
	name string
	sum  func(string) uint64
}

// hashFunctions are the functions that could key a tag. The seeds stay the same over a run.
func hashFunctions() []hashFunction {
	mapSeed := maphash.MakeSeed()
	return []hashFunction{
		{"murmur3, which the Agent and metricsd have", func(s string) uint64 { return murmur3.Sum64(s, seed) }},
		{"hash/maphash (AES)", func(s string) uint64 { return maphash.String(mapSeed, s) }},
		{"xxhash", xxhash.Sum64String},
		{"xxh3", xxh3.HashString},
		{"hash/fnv, 1a", func(s string) uint64 {
			h := fnv.New64a()
			h.Write([]byte(s))
			return h.Sum64()
		}},
		// CRC-32 has an instruction of its own but only 32 bits, so two with different polynomials
		// make 64.
		{"two CRC-32 side by side", func(s string) uint64 {
			return uint64(crc32.ChecksumIEEE([]byte(s)))<<32 | uint64(crc.UpdateString(0, s))
		}},
	}
}

// hashes compares hash functions by time and quality. A good function behaves like chance: in
// collisions of 32 of its bits, in the fill of buckets, and in how often a bit of the result turns
// when a bit of the tag does.
func hashes(o *options, args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	times := &table{Name: "Hash functions: ns a tag", Columns: []string{"bytes", "function", "ns", "times as fast"}}
	for _, length := range []int{8, 16, 33, 256} {
		var sum uint64
		var ways []way
		tags := tagsOf(length)
		for _, f := range hashFunctions() {
			ways = append(ways, way{name: f.name, run: func(n int) {
				for i := range n {
					sum += f.sum(tags[i%len(tags)])
				}
			}})
		}
		o.rows(times, length, ways...)
		if sum == 0 {
			return errors.New("all hashes are 0")
		}
	}
	return o.print(times, hashQuality(2_000_000))
}

// tagsOf returns a thousand tags of a length.
func tagsOf(length int) []string {
	rng := rand.New(rand.NewPCG(1, uint64(length)))
	tags := make([]string, 1000)
	for i := range tags {
		b := []byte("tag:")
		for len(b) < length {
			b = append(b, byte('a'+rng.IntN(26)))
		}
		tags[i] = string(b)
	}
	return tags
}

// hashQuality tests the functions on strings like tags: a long shared beginning and a number. A
// function may be fast because it skips such differences.
func hashQuality(n int) *table {
	t := &table{
		Name: fmt.Sprintf("Quality with %d tags that differ in few bytes", n),
		Columns: []string{"function", "collisions in 64 bits", "in the upper 32", "in the lower 32", "chance",
			"buckets: deviations of chi squared", "avalanche: worst bit", "verdict"},
	}
	// Half of the bits should collide as often as by chance: fewer collisions would be as
	// suspicious as more.
	chance := float64(n) * float64(n-1) / 2 / math.Pow(2, 32)
	for _, f := range hashFunctions() {
		all := make([]uint64, n)
		for i := range all {
			all[i] = f.sum(fmt.Sprintf("pod_name:checkout-%07d", i))
		}
		whole := collisions(all, 0, 64)
		upper, lower := collisions(all, 32, 32), collisions(all, 0, 32)
		buckets, worst := chiSquared(all), avalanche(f.sum)
		verdict := "passes"
		// Allow five standard deviations: with some ten functions and tests, chance alone does not
		// reach that.
		off := func(found int) bool { return math.Abs(float64(found)-chance) > 5*math.Sqrt(chance) }
		// A bit of the input must turn each bit of the sum in half of all cases.
		if whole > 0 || off(upper) || off(lower) || math.Abs(buckets) > 5 || worst > 0.05 {
			verdict = "fails"
		}
		t.add(f.name, whole, upper, lower, chance, buckets, worst, verdict)
	}
	return t
}

// collisions counts pairs that share some bits.
func collisions(all []uint64, from, width int) (n int) {
	some := make([]uint64, len(all))
	for i, h := range all {
		some[i] = h << (64 - from - width) >> (64 - width)
	}
	slices.Sort(some)
	for i := 1; i < len(some); i++ {
		if some[i] == some[i-1] {
			n++
		}
	}
	return n
}

// chiSquared puts hashes into 65,536 buckets by their low bits, as a map does. It returns by how
// many standard deviations the fill differs from chance.
func chiSquared(all []uint64) float64 {
	const buckets = 1 << 16
	var fill [buckets]int
	for _, h := range all {
		fill[h%buckets]++
	}
	mean, chi := float64(len(all))/buckets, 0.0
	for _, n := range fill {
		chi += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	return (chi - (buckets - 1)) / math.Sqrt(2*(buckets-1))
}

// avalanche turns each bit of many tags. It returns the largest distance between the share of cases
// in which a bit of the result turns, and one half.
func avalanche(sum func(string) uint64) (worst float64) {
	const tags, length = 4000, 16
	rng := rand.New(rand.NewPCG(3, 4))
	for bit := range length * 8 {
		var turned [64]int
		for range tags {
			b := make([]byte, length)
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			before := sum(string(b))
			b[bit/8] ^= 1 << (bit % 8)
			for changed := before ^ sum(string(b)); changed != 0; changed &= changed - 1 {
				turned[bits.TrailingZeros64(changed)]++
			}
		}
		for _, n := range turned {
			worst = max(worst, math.Abs(float64(n)/tags-0.5))
		}
	}
	return worst
}
