package verify

import "testing"

const (
	sameTexts = `func f(a, b string) bool { return a == b }`
	distinct  = `func f(list []string) int { n := 0; for i, a := range list { dup := false; for _, b := range list[:i] { dup = dup || a == b }; if !dup { n++ } }; return n }`
	fnv64     = "\nfunc h(s string) uint64 { x := uint64(14695981039346656037); for i := 0; i < len(s); i++ { x ^= " +
		"uint64(s[i]); x *= 1099511628211 }; return x }\n"
)

// TestDigestForms checks that the policy refuses a digest however the code builds and compares it.
func TestDigestForms(t *testing.T) {
	try(t, []road{
		{"hasher struct", sameTexts, `type hs struct { x uint64 }
func (h *hs) add(c byte) { h.x = (h.x ^ uint64(c)) * 1099511628211 }
func sum(s string) uint64 { h := hs{1469598103934665603}; for i := 0; i < len(s); i++ { h.add(s[i]) }; return h.x }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"struct accumulator", sameTexts,
			`func sum(s string) uint64 { var h struct{x uint64}; for i := 0; i < len(s); i++ { h.x = (h.x ^ uint64(s[i])) * 1099511628211 }; return h.x }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"array accumulator", sameTexts,
			`func sum(s string) uint64 { var h [1]uint64; for i := 0; i < len(s); i++ { h[0] = (h[0] ^ uint64(s[i])) * 1099511628211 }; return h[0] }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"captured accumulator", sameTexts,
			`func sum(s string) uint64 { x := uint64(7); add := func(c byte) { x = (x ^ uint64(c)) * 1099511628211 }; for i := 0; i < len(s); i++ { add(s[i]) }; return x }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"step function", sameTexts, `func step(x uint64, c byte) uint64 { return (x ^ uint64(c)) * 1099511628211 }
func sum(s string) uint64 { x := uint64(7); for i := 0; i < len(s); i++ { x = step(x, s[i]) }; return x }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"recursion", sameTexts,
			`func sum(s string) uint64 { if s == "" { return 7 }; return (sum(s[1:]) ^ uint64(s[0])) * 1099511628211 }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"even factor", sameTexts,
			`func sum(s string) uint64 { x := uint64(7); for i := 0; i < len(s); i++ { x = x*1099511628210 + uint64(s[i]) }; return x }
func f(a, b string) bool { return len(a) == len(b) && sum(a) == sum(b) }`, "digest"},
		{"sum and weighted sum", sameTexts,
			`func sum(s string) (x, y uint64) { for i := 0; i < len(s); i++ { x += uint64(s[i]); y += x }; return }
func f(a, b string) bool { x, y := sum(a); z, w := sum(b); return len(a) == len(b) && x == z && y == w }`, "digest"},
		{"sum stored where it differs, and told", sameTexts, `type t struct { n int }
func sum(s string) (n int) { for i := range len(s) { n += int(s[i]) * 31 }; return n }
func f(a, b string) bool { v := &t{sum(a)}; n := sum(b); same := true; if v.n != n { v.n = n; same = false }; return same }`, "digest"},
		{"sum stored elsewhere where it differs", sameTexts, `type t struct { n, m int }
func sum(s string) (n int) { for i := range len(s) { n += int(s[i]) * 31 }; return n }
func f(a, b string) bool { v := &t{n: sum(a)}; n := sum(b); if v.n != n { v.m = n }; return v.m == 0 }`, "digest"},
		{"struct key", distinct, fnv64 + `type k struct { h uint64; n int }
func f(list []string) int { m := map[k]bool{}; for _, s := range list { m[k{h(s), len(s)}] = true }; return len(m) }`,
			"digest"},
		{"struct equality", sameTexts, fnv64 + `type k struct { h uint64; n int }
func f(a, b string) bool { x, y := k{h(a), len(a)}, k{h(b), len(b)}; return x == y }`, "digest"},
		{"only len of map", distinct, fnv64 + `func f(list []string) int { m := map[uint64]struct{}{}; for _, s := range list { m[h(s)] = struct{}{} }; return len(m) }`, "digest"},
		{"sorted digests", distinct, fnv64 + `func f(list []string) int { hs := make([]uint64, 0, len(list)); for _, s := range list { hs = append(hs, h(s)) }; slices.Sort(hs); return len(slices.Compact(hs)) }`, "digest"},
		{"subtract", sameTexts, fnv64 + `func f(a, b string) bool { return h(a)-h(b) == 0 }`, "digest"},
		{"less both", sameTexts, fnv64 + `func f(a, b string) bool { x, y := h(a), h(b); return !(x < y) && !(y < x) }`, "digest"},
		{"xor zero", sameTexts, fnv64 + `func f(a, b string) bool { if d := h(a)^h(b); d != 0 { return false }; return true }`, "digest"},
		{"unrelated compare", sameTexts, fnv64 + `func f(a, b string) bool { if h(a) == h(b) { if a == "zz" { return b == a }; return true }; return false }`, "digest"},
	})
}

// TestDigestLookalikes checks that the policy passes code that resembles those forms but is exact,
// or decides nothing.
func TestDigestLookalikes(t *testing.T) {
	const total = `func f(b []byte) (n int) { for _, c := range b { n += int(c) }; return n }`
	try(t, []road{
		{"counter in a struct", `func f(s string) bool { return strings.Count(s, "a") == strings.Count(s, "b") }`,
			`type n struct { x int }
func (c *n) add() { c.x++ }
func f(s string) bool { var a, b n; for i := 0; i < len(s); i++ { switch s[i] { case 'a': a.add(); case 'b': b.add() } }; return a.x == b.x }`,
			""},
		{"longest in a struct", `func f(a, b []string) bool { return len(slices.MaxFunc(a, func(x, y string) int { return len(x) - len(y) })) == len(slices.MaxFunc(b, func(x, y string) int { return len(x) - len(y) })) }`,
			`type m struct { x int }
func top(list []string) int { var h m; for _, s := range list { if len(s) > h.x { h.x = len(s) } }; return h.x }
func f(a, b []string) bool { return top(a) == top(b) }`, ""},
		{"histogram in an array", `func f(a, b string) bool { x, y := []byte(a), []byte(b); slices.Sort(x); slices.Sort(y); return string(x) == string(y) }`,
			`func f(a, b string) bool { var x, y [256]int; for i := 0; i < len(a); i++ { x[a[i]]++ }; for i := 0; i < len(b); i++ { y[b[i]]++ }; return x == y }`, ""},
		{"captured number", `func f(a, b string) bool { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x == y }`,
			`func num(s string) int { x := 0; add := func(c byte) { x = x*10 + int(c-'0') }; for i := 0; i < len(s); i++ { add(s[i]) }; return x }
func f(a, b string) bool { return num(a) == num(b) }`, ""},
		{"number by a step function", `func f(a, b string) bool { x, _ := strconv.ParseUint(a, 16, 64); y, _ := strconv.ParseUint(b, 16, 64); return x == y }`,
			`func step(x uint64, c byte) uint64 { return x<<4 | uint64(c&15) }
func num(s string) uint64 { x := uint64(0); for i := 0; i < len(s); i++ { x = step(x, s[i]) }; return x }
func f(a, b string) bool { return num(a) == num(b) }`, ""},
		{"number by recursion", `func f(a, b string) bool { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x == y }`,
			`func num(s string) int { if s == "" { return 0 }; return num(s[:len(s)-1])*10 + int(s[len(s)-1]-'0') }
func f(a, b string) bool { return num(a) == num(b) }`, ""},
		{"number by shifts", `func f(a, b string) bool { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x == y }`,
			`func num(s string) int { n := 0; for i := range len(s) { n = n<<3 + n<<1 + int(s[i]-'0') }; return n }
func f(a, b string) bool { return num(a) == num(b) }`, ""},
		{"sum as the result", total, `func f(b []byte) int { x, y := 0, 0; i := 0; for ; i+1 < len(b); i += 2 { x += int(b[i]); y += int(b[i+1]) }; if i < len(b) { x += int(b[i]) }; return x + y }`, ""},
		{"sums as in the original", `func sum(s string) (n int) { for i := range len(s) { n += int(s[i]) }; return n }
func f(a, b string) bool { return sum(a) == sum(b) }`,
			`func f(a, b string) bool { n := 0; for i := range len(a) { n += int(a[i]) }; for i := range len(b) { n -= int(b[i]) }; return n == 0 }`, ""},
		{"struct key with the text", distinct, fnv64 + `type k struct { h uint64; s string }
func f(list []string) int { m := map[k]bool{}; for _, s := range list { m[k{h(s), s}] = true }; return len(m) }`, ""},
		{"struct equality, then the text", sameTexts, fnv64 + `type k struct { h uint64; n int }
func f(a, b string) bool { x, y := k{h(a), len(a)}, k{h(b), len(b)}; return x == y && a == b }`, ""},
		{"map of positions", `func f(b []byte) int { n := 0; for i := 0; i < len(b); i += 1 + int(b[i]) { n++ }; return n }`,
			`func f(b []byte) int { m := map[int]bool{}; for i := 0; i < len(b); { m[i] = true; i += 1 + int(b[i]) }; return len(m) }`, ""},
		{"no difference in any bit", sameTexts, `func f(a, b string) bool { if len(a) != len(b) { return false }; var d byte; for i := 0; i < len(a); i++ { d |= a[i] ^ b[i] }; return d == 0 }`, ""},
		{"subtracted, then the text", sameTexts, fnv64 + `func f(a, b string) bool { return h(a)-h(b) == 0 && a == b }`, ""},
		{"searched by hash, then by text", `func f(list []string, s string) bool { return slices.Contains(list, s) }`,
			fnv64 + `type e struct { sum uint64; key string }
func f(list []string, s string) bool { k := h(s); for _, x := range list { y := e{h(x), x}; if y.sum < k || y.sum > k { continue }; if y.sum == k && y.key == s { return true } }; return false }`,
			""},
		{"sum stored where it differs", `type t struct { n int }
func f(v *t, s string) int { for i := range len(s) { v.n += int(s[i]) }; return v.n }`,
			`type t struct { n int }
func f(v *t, s string) int { n := v.n; for i := range len(s) { n += int(s[i]) }; if v.n != n { v.n = n }; return v.n }`, ""},
		{"bits of a sum", `type t struct { n float64 }
func f(v *t, s string) float64 { for i := range len(s) { v.n += float64(s[i]) }; return v.n }`,
			`type t struct { n float64 }
func f(v *t, s string) float64 { n := v.n; for i := range len(s) { n += float64(s[i]) }; if math.Float64bits(v.n) != math.Float64bits(n) { v.n = n }; return v.n }`, ""},
		{"rolling hash, then the text", `func f(s, sub string) int { return strings.Index(s, sub) }`,
			`func f(s, sub string) int { n := len(sub); if n == 0 || n > len(s) { return strings.Index(s, sub) }; var want, x, pow uint32 = 0, 0, 1
for i := 0; i < n; i++ { want = want*16777619 + uint32(sub[i]); x = x*16777619 + uint32(s[i]); pow *= 16777619 }
if x == want && s[:n] == sub { return 0 }
for i := n; i < len(s); i++ { x = x*16777619 + uint32(s[i]) - pow*uint32(s[i-n]); if x == want && s[i-n+1:i+1] == sub { return i-n+1 } }; return -1 }`,
			""},
	})
}
