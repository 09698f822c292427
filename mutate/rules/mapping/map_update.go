//lint:file-ignore S1036 a Before is what the rule replaces

package mapping

import (
	_ "embed"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed map_update.go
var mapUpdateSource string

// mapUpdate (catalogue M1) matches code that looks one key up twice. It updates the element in
// place, or keeps the element that the first look-up found.
var mapUpdate = example.Rule{
	Name: "map-update",
	Doc: "Look a key up once instead of twice: update the element in place, or keep what the test found. Each " +
		"lookup hashes the key again. Legal because map and key are the same at both places and nothing changes the " +
		"map in between.",
	Class:  beagle.E0,
	Gain:   1.6,
	Source: mapUpdateSource,
	Pairs: []example.Pair{
		{Before: testAndUse[string, int], After: findAndUse[string, int], Guard: mapKept},
		{Before: compareAndUse[string, int], After: keepAndUse[string, int], Guard: mapKept},
		{Before: addOrSet[string, int], After: addTo[string, int]},
		{Before: countOrSet[string, int], After: countUp[string, int]},
		{Before: zeroAndAdd[string, int], After: addTo[string, int]},
		{Before: zeroAndCount[string, int], After: countUp[string, int]},
		{Before: readAndAdd[string, string], After: addTo[string, string]},
	},
	Label: func(m *example.Match) string {
		return "lookups of " + m.Pass.Text(m.Expr("m")) + "[" + m.Pass.Text(m.Expr("k")) + "]"
	},
}.Mutator()

// mapKept reports whether nothing in the code changes the map or the key. The key's comparison
// cannot panic.
func mapKept(m *example.Match) bool {
	return facts.MapKept(m.Pass, m.Expr("m"), m.Code("use")) && facts.Stable(m.Pass, m.Expr("k"), m.Code("use"))
}

func testAndUse[K comparable, V any](m map[K]V, k K, use func(V)) {
	if _, ok := m[k]; ok {
		use(m[k])
	}
}

func findAndUse[K comparable, V any](m map[K]V, k K, use func(V)) {
	if v, ok := m[k]; ok {
		use(v)
	}
}

func compareAndUse[K comparable, V any](m map[K]V, k K, test func(V) bool, use func(V)) {
	if test(m[k]) {
		use(m[k])
	}
}

func keepAndUse[K comparable, V any](m map[K]V, k K, test func(V) bool, use func(V)) {
	if v := m[k]; test(v) {
		use(v)
	}
}

// A missing element counts as zero. Floats are left out: they have two zeros.

func addOrSet[K comparable, V kit.Exact](m map[K]V, k K, v V) {
	if _, ok := m[k]; ok {
		m[k] += v
	} else {
		m[k] = v
	}
}

func countOrSet[K comparable, V kit.Integer](m map[K]V, k K) {
	if _, ok := m[k]; ok {
		m[k]++
	} else {
		m[k] = 1
	}
}

func zeroAndAdd[K comparable, V kit.Integer](m map[K]V, k K, v V) {
	if _, ok := m[k]; !ok {
		m[k] = 0
	}
	m[k] += v
}

func zeroAndCount[K comparable, V kit.Integer](m map[K]V, k K) {
	if _, ok := m[k]; !ok {
		m[k] = 0
	}
	m[k]++
}

func readAndAdd[K comparable, V kit.Exact](m map[K]V, k K, v V) { m[k] = m[k] + v }
func addTo[K comparable, V kit.Exact](m map[K]V, k K, v V)      { m[k] += v }
func countUp[K comparable, V kit.Integer](m map[K]V, k K)       { m[k]++ }
