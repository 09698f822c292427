package verify

import "testing"

// TestDigests checks that the policy refuses values taken for equal because their hashes are.
// Tables that compare the values too pass.
func TestDigests(t *testing.T) {
	const dedup = `func f(list []string) int { n := 0; for i, a := range list { dup := false; for _, b := range list[:i] { dup = dup || a == b }; if !dup { n++ } }; return n }`
	const same = `func f(a, b string) bool { return a == b }`
	const own = "\nfunc h(s string) uint64 { x := uint64(14695981039346656037); for i := 0; i < len(s); i++ { x ^= " +
		"uint64(s[i]); x *= 1099511628211 }; return x }\n"
	const djb = "\nfunc h(s string) uint32 { x := uint32(5381); for _, c := range []byte(s) { x = x*33 + uint32(c) " +
		"}; return x }\n"
	const shifts = "\nfunc h(s string) uint32 { x := uint32(1); for i := range len(s) { x ^= x<<5 + uint32(s[i]) + " +
		"x>>2 }; return x }\n"
	try(t, []road{
		{"a map of own hashes", dedup, own + `func f(list []string) int { m := map[uint64]bool{}; for _, s := range list { m[h(s)] = true }; n := 0; for _, s := range list { if m[h(s)] { n++ } }; return n }`, "digest"},
		{"two own hashes", same, djb + `func f(a, b string) bool { return h(a) == h(b) }`, "digest"},
		{"by shifts", same, shifts + `func f(a, b string) bool { return len(a) == len(b) && h(a) == h(b) }`, "digest"},
		{"crc32", same, `func f(a, b string) bool { return crc32.ChecksumIEEE([]byte(a)) == crc32.ChecksumIEEE([]byte(b)) }`, "digest"},
		{"fnv", dedup, `func f(list []string) int { m := map[uint64]struct{}{}; for _, s := range list { d := fnv.New64a(); d.Write([]byte(s)); k := d.Sum64(); if _, ok := m[k]; !ok { m[k] = struct{}{} } }; return len(m) }`, "digest"},
		{"sha256", dedup, `func f(list []string) int { m := map[[32]byte]bool{}; n := 0; for _, s := range list { k := sha256.Sum256([]byte(s)); if !m[k] { m[k] = true; n++ } }; return n }`, "digest"},
		{"a filter of bits", dedup, own + `func f(list []string) int { var seen [4096]bool; n := 0; for _, s := range list { if k := h(s) % 4096; !seen[k] { seen[k] = true; n++ } }; return n }`, "digest"},
		{"hashes in a list", dedup, own + `func f(list []string) int { hs := make([]uint64, len(list)); for i, s := range list { hs[i] = h(s) }; n := 0; for i := range hs { dup := false; for j := range i { if hs[i] == hs[j] { dup = true } }; if !dup { n++ } }; return n }`, "digest"},
		{"hashes in a field", dedup, own + `type e struct { sum uint64; n int }
			func f(list []string) int { var es []e; n := 0; for _, s := range list { k := h(s); found := false; for i := range es { if es[i].sum == k { found = true } }; if !found { n++; es = append(es, e{k, n}) } }; return n }`,
			"digest"},
		{"a constant hash", same, own + `func f(a, b string) bool { return h(a) == 0xcbf29ce484222325 }`, "digest"},
		// The rest is honest.
		{"a table that compares", dedup, own + `func f(list []string) int { tab := make([]string, 4096); n := 0; for _, s := range list { i := h(s) % 4096; for tab[i] != "" && tab[i] != s { i = (i + 1) % 4096 }; if tab[i] == "" { tab[i] = s; n++ } }; return n }`, ""},
		{"hashes first, then values", dedup, own + `type e struct { sum uint64; key string }
			func f(list []string) int { var es []e; n := 0; for _, s := range list { k := h(s); found := false; for i := range es { if es[i].sum == k && es[i].key == s { found = true; break } }; if !found { n++; es = append(es, e{k, s}) } }; return n }`,
			""},
		{"buckets", dedup, djb + `func f(list []string) int { m := map[uint32][]string{}; n := 0; for _, s := range list { k := h(s); if !slices.Contains(m[k], s) { m[k] = append(m[k], s); n++ } }; return n }`, ""},
		{"indices of a table", dedup, own + `func f(list []string) int { var tab [1024]int32; n := 0; for i, s := range list { k := h(s) & 1023; for tab[k] != 0 { if list[tab[k]-1] == s { break }; k = (k + 1) & 1023 }; if tab[k] == 0 { tab[k] = int32(i + 1); n++ } }; return n }`, ""},
		{"a map of strings", dedup, `func f(list []string) int { m := map[string]bool{}; for _, s := range list { m[s] = true }; return len(m) }`, ""},
		{"numbers", `func f(a, b string) bool { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x == y }`,
			`func num(s string) (n int) { for i := range len(s) { n = n*10 + int(s[i]-'0') }; return n }
			func f(a, b string) bool { return num(a) == num(b) }`, ""},
		{"a hash as the result", `func f(s string) uint32 { return crc32.ChecksumIEEE([]byte(s)) }`,
			`var t = crc32.MakeTable(crc32.IEEE)
			func f(s string) uint32 { c := ^uint32(0); for i := range len(s) { c = t[byte(c)^s[i]] ^ c>>8 }; return ^c }`,
			""},
		{"a perfect hash", `func f(s string) bool { return s == "get" || s == "put" }`,
			`var words = [8]string{1: "get", 5: "put"}
			func f(s string) bool { k := uint32(0); for i := range len(s) { k = k*31 + uint32(s[i]) }; return words[k&7] == s }`,
			""},
		{"what the original compares", `func f(b []byte, sum uint32) bool { return crc32.ChecksumIEEE(b) == sum^0 && crc32.ChecksumIEEE(b) == crc32.ChecksumIEEE(b[:]) }`, `func f(b []byte, sum uint32) bool { return crc32.ChecksumIEEE(b) == sum }`, ""},
	})
}
