package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A writer makes random functions. Variables of each type have fixed names: i0, i1 int; u0, u1
// uint64; w uint32; b0, b1 byte; c int8; h int16; s, t string; p, q []byte; ok bool.
type writer struct {
	r     *rand.Rand
	out   strings.Builder
	depth int
	loops int
	fresh int
}

func (g *writer) function(name string) string {
	fmt.Fprintf(&g.out,
		"\nfunc %s(i0 int, w uint32, c int8, s string, p []byte) (int, uint64, string, []byte, bool) {\n", name)
	g.out.WriteString("i1, u0, u1, b0, b1, h, t, q, ok := 3, uint64(w), uint64(7), byte(c), byte(1), int16(c), \"\", " +
		"[]byte(nil), false\n" +
		"var arr [8]int\nvar pr pair\n_, _, _, _, _, _, _, _, _, _, _ = i1, u0, u1, b0, b1, h, t, q, ok, arr, pr\n")
	g.block(3 + g.r.IntN(5))
	fmt.Fprintf(&g.out, "return %s, %s, %s, %s, %s\n}\n", g.expr("int", 2), g.expr("uint64", 2), g.pick("s", "t", "t"),
		g.pick("p", "q", "q"), g.expr("bool", 2))
	return g.out.String()
}

func (g *writer) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *writer) line(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

func (g *writer) block(n int) {
	g.depth++
	for range n {
		g.statement()
	}
	g.depth--
}

func (g *writer) statement() {
	switch n := g.r.IntN(26); {
	case n < 6:
		g.assign()
	case n < 9 && g.depth < 4:
		g.line("if %s {", g.expr("bool", 2))
		g.block(1 + g.r.IntN(2))
		if g.r.IntN(2) == 0 {
			g.line("} else {")
			g.block(1 + g.r.IntN(2))
		}
		g.line("}")
	case n < 12 && g.loops < 2 && g.depth < 4:
		g.loop()
	case n == 12:
		g.line("t += %s", g.pick("s", "string(b0)", "\"ab\"", "t", "string(rune(w))", "words[i1&3]"))
		g.line("if len(t) > 12 { t = t[:5] }")
	case n == 13:
		g.line("q = append(q, %s)", g.pick("b0", "b1, b0", "s...", "p...", "byte(i0)", "\"xy\"..."))
		g.line("if len(q) > 12 { q = q[2:6] }")
	case n == 14:
		g.line("if len(p) > 0 { p[%s] = %s }", g.pick("0", "len(p)-1", "int(b0)%len(p)", "i1"), g.expr("byte", 2))
	case n == 15:
		g.line("arr[%s] %s %s", g.pick("i1&7", "3", "int(b0&7)", "i0&7"), g.pick("=", "+=", "^="), g.expr("int", 2))
	case n == 16:
		g.line("switch %s {\ncase 1, 'a':", g.pick("b0", "i0", "w&3"))
		g.block(1)
		g.line("case 2:")
		g.block(1)
		g.line("default:")
		g.block(1)
		g.line("}")
	case n == 17:
		g.line("pr.%s", g.pick("x += i1", "y = b0", "n[1] = w", "add(i0)", "n[b1%3]++"))
	case n == 18 && g.depth > 1 && g.loops == 0:
		g.line("return i0, u0, t, q, %s", g.expr("bool", 1))
	case n == 19:
		g.line("%s, ok = helper(%s, %s)", g.pick("i0", "i1"), g.pick("s", "t"), g.expr("int", 1))
	case n == 20:
		g.line("i1 = twice(func(n int) int { %s; return n + i0 }, %s)", g.pick("i0++", "b0 ^= 1", "u0 += uint64(n)"),
			g.expr("int", 1))
	case n == 21:
		g.library()
	case n == 22:
		g.line("copy(%s, %s)", g.pick("p", "q"), g.pick("s", "t", "p"))
	case n == 23:
		g.line("if len(s) > 2 { t = s[%s:%s] }", g.pick("1", "len(s)-2", "0"), g.pick("2", "len(s)", "len(s)-1"))
	case n == 24:
		g.line("if x := i0; x >= 0 && x < len(s) { t = s[x:]; i1 = x }")
	default:
		g.line("q = make([]byte, %s)", g.pick("3", "len(s)", "len(p)+1", "int(b0&3)"))
	}
}

func (g *writer) library() {
	g.line("%s", g.pick(
		"ok = strings.HasPrefix(s, \"a\")", "i1 = strings.IndexByte(s, b0)", "t = strings.TrimSuffix(t, s)", "ok = bytes.Equal(p, q)",
		"i1 = bits.LeadingZeros64(u0)", "i1 = bits.TrailingZeros32(w)", "u0 = bits.RotateLeft64(u0, i1)", "u1 = bits.ReverseBytes64(u0)",
		"i1 = bits.OnesCount8(b0)", "i1 = utf8.RuneCountInString(s)", "ok = utf8.ValidString(s)", "{ var b strings.Builder; b.WriteString(s); b.WriteByte(b0); t = b.String() }",
		"i1 = strings.Index(s, \"ab\")", "if len(p) >= 4 { w = binary.LittleEndian.Uint32(p) }", "q = binary.BigEndian.AppendUint16(q, uint16(h))",
		"i1 = strings.Count(s, \"a\")", "t = strings.TrimLeft(s, \" a\")", "ok = strings.Contains(s, t)", "t = strings.Repeat(\"a\", int(b0&3))",
		"u1, _ = bits.Mul64(u0, uint64(w))", "i1 = len(strings.TrimSpace(s))", "t = strings.ToLower(t)",
		"{ r, n := utf8.DecodeRuneInString(s); w += uint32(r); i1 = n }"))
}

func (g *writer) loop() {
	g.loops++
	g.fresh++
	k := fmt.Sprintf("k%d", g.fresh)
	switch g.r.IntN(7) {
	case 0:
		g.line("for %s := 0; %s < len(s); %s++ {\nb0 = s[%s]", k, k, k, k)
	case 1:
		g.line("for %s, r := range s {\nw += uint32(r); i1 = %s", k, k)
	case 2:
		g.line("for %s, x := range p {\nb1 ^= x; p[%s] = b1", k, k)
	case 3:
		g.line("for %s := len(s) - 1; %s >= 0; %s-- {\nif s[%s] == 'a' { break }", k, k, k, k)
	case 4:
		g.line("for %s := 0; %s+1 < len(p); %s += 2 {\nif p[%s] > 99 { continue }", k, k, k, k)
	case 5:
		g.line("for %s := range 4 {\narr[%s]++", k, k)
	default:
		g.line("for %s := s; len(%s) > 0; {\nif %s[0] > 'c' { %s = %s[1:]; continue }; %s = %s[min(2, len(%s)):]", k, k,
			k, k, k, k, k, k)
	}
	g.block(1 + g.r.IntN(2))
	g.line("}")
	g.loops--
}

func (g *writer) assign() {
	v := [][2]string{{"i0", "int"}, {"i1", "int"}, {"u0", "uint64"}, {"u1", "uint64"}, {"w", "uint32"}, {"b0", "byte"},
		{"b1", "byte"}, {"h", "int16"}, {"c", "int8"}, {"ok", "bool"}}[g.r.IntN(10)]
	g.line("%s = %s", v[0], g.expr(v[1], 3))
}

var leaves = map[string][]string{
	"int":    {"i0", "i1", "len(s)", "len(p)", "len(t)", "arr[i1&7]", "arr[2]", "pr.x", "pr.sum()", "int(h)", "int(c)", "int(b0)", "int(w)", "int(u0)", "7", "-3", "1 << 40"},
	"uint64": {"u0", "u1", "uint64(w)", "uint64(b0)", "uint64(i0)", "uint64(h)", "0x8080808080808080", "0x0101010101010101", "10", "65521"},
	"uint32": {"w", "uint32(b0)", "uint32(i0)", "uint32(u0)", "uint32(table[b0])", "pr.n[1]", "0xdeadbeef", "31"},
	"byte":   {"b0", "b1", "pr.y", "byte(i0)", "byte(w)", "byte(u0>>8)", "small[b0&15]", "'a'", "0x80", "3"},
	"int16":  {"h", "int16(c)", "int16(i0)", "int16(table[b1])", "-300", "5"},
	"int8":   {"c", "int8(b0)", "int8(i1)", "-128", "3"},
}

func (g *writer) expr(typ string, depth int) string {
	if typ == "bool" {
		return g.truth(depth)
	}
	if depth == 0 || g.r.IntN(5) == 0 {
		leaf := g.pick(leaves[typ]...)
		if strings.IndexByte("-'0123456789", leaf[0]) >= 0 {
			return "id[" + typ + "](" + leaf + ")" // no constant, whose overflow the compiler refuses
		}
		return leaf
	}
	x, y := g.expr(typ, depth-1), g.expr(typ, depth-1)
	switch n := g.r.IntN(14); {
	case n < 8:
		return "(" + typ + "(" + x + ") " + g.pick("+", "-", "*", "&", "|", "^", "&^") + " " + y + ")"
	case n == 8:
		return "(" + typ + "(" + x + ") " + g.pick("/", "%") + " (" + y + " | 1))"
	case n == 9 && typ != "int8":
		return "(" + leaves[typ][0] + " " + g.pick("/", "%") + " " + g.pick("3", "10", "16", "100") + ")"
	case n < 12:
		return "(" + typ + "(" + x + ") " + g.pick("<<", ">>") + " " + g.pick("3", "1", "(b0 & 31)", "(w & 127)", "8") +
			")"
	case n == 12:
		return "(" + g.pick("-", "^") + typ + "(" + x + "))"
	}
	return g.pick("min", "max") + "(" + typ + "(" + x + "), " + y + ")"
}

func (g *writer) truth(depth int) string {
	if depth == 0 {
		return g.pick("ok", "i0 > i1", "b0 == 'a'", "len(s) > 2", "s < t", "s == \"ab\"", "string(p) == s", "t != s")
	}
	switch g.r.IntN(4) {
	case 0:
		return "(" + g.truth(depth-1) + " " + g.pick("&&", "||") + " " + g.truth(depth-1) + ")"
	case 1:
		return "!" + "(" + g.truth(depth-1) + ")"
	}
	typ := g.pick("int", "uint64", "uint32", "byte", "int16", "int8")
	return "(" + typ + "(" + g.expr(typ, depth-1) + ") " + g.pick("<", "<=", "==", "!=", ">", ">=") + " " +
		g.expr(typ, depth-1) + ")"
}
