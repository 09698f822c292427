package verify

import "testing"

// BenchmarkPolicy measures the reading of one candidate whose original is known.
func BenchmarkPolicy(b *testing.B) {
	orig := read(b,
		importing(
			`func f(list []string) int { n := 0; for i, a := range list { dup := false; for _, x := range list[:i] { dup = dup || a == x }; if !dup { n++ } }; return n }`))
	src := importing(`type e struct { sum uint64; key string }
		func h(s string) uint64 { x := uint64(14695981039346656037); for i := 0; i < len(s); i++ { x ^= uint64(s[i]); x *= 1099511628211 }; return x }
		func f(list []string) int { var es []e; n := 0; for _, s := range list { k := h(strings.ToLower(s)); found := false; for i := range es { if es[i].sum == k && es[i].key == s { found = true; break } }; if !found { n++; es = append(es, e{k, s}) } }; return n }`)
	forbidden(orig, orig, nil)
	for b.Loop() {
		b.StopTimer()
		c := read(b, src)
		b.StartTimer()
		forbidden(orig, c, nil)
	}
}
