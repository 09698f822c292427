package verify

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// importing writes a file around declarations, with the imports that they need.
func importing(decls string) string {
	paths := map[string]string{"crc32": "hash/crc32", "crc64": "hash/crc64", "syntax": "regexp/syntax",
		"url": "net/url", "utf8": "unicode/utf8",
		"binary": "encoding/binary", "list": "container/list", "big": "math/big", "rand": "math/rand/v2", "maphash": "hash/maphash", "bits": "math/bits",
		"fnv": "hash/fnv", "sha256": "crypto/sha256", "json": "encoding/json", "md5": "crypto/md5", "exec": "os/exec",
		"scanner": "text/scanner"}
	var b strings.Builder
	b.WriteString("package k\n\n")
	for _, name := range strings.Fields(
		"bytes bufio errors fmt io maps math regexp runtime slices sort strconv strings sync time unsafe crc32 crc64 " +
			"syntax url utf8 binary list big rand maphash bits fnv sha256 json md5 exec " +
			"scanner os syscall reflect context iter unicode") {
		if !named(decls, name) {
			continue
		}
		path := paths[name]
		if path == "" {
			path = name
		}
		fmt.Fprintf(&b, "import %q\n", path)
	}
	return b.String() + "\n" + decls + "\n"
}

// named reports whether a package's name stands before a dot.
func named(decls, name string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package k\n"+decls, 0)
	if err != nil {
		return strings.Contains(decls, name+".")
	}
	for _, id := range f.Unresolved {
		if id.Name == name {
			return true
		}
	}
	return false
}

// A road is a way to something that the policy forbids. want is a part of the reason, or "" for
// honest code.
type road struct{ name, original, candidate, want string }

func try(t *testing.T, roads []road) {
	t.Helper()
	for _, r := range roads {
		t.Run(r.name, func(t *testing.T) {
			list := forbidden(read(t, importing(r.original)), read(t, importing(r.candidate)), nil)
			switch {
			case r.want == "" && len(list) > 0:
				t.Errorf("refused: %v\n%s", list, r.candidate)
			case r.want != "" && !strings.Contains(fmt.Sprint(list), r.want):
				t.Errorf("want %q, got %v\n%s", r.want, list, r.candidate)
			}
		})
	}
}

// TestMethodExpressions checks that a method named as a function writes to its first argument, as
// the method does.
func TestMethodExpressions(t *testing.T) {
	const original = `func f(s string) string { return s }`
	var roads []road
	for decl, calls := range map[string][]string{
		`var v = url.Values{}`:             {`url.Values.Set(v, s, s)`, `url.Values.Add(v, s, s)`, `url.Values.Del(v, s)`, `g := url.Values.Set; g(v, s, s)`},
		`var v = strings.NewReader("abc")`: {`(*strings.Reader).Seek(v, 1, 1)`, `(*strings.Reader).ReadByte(v)`, `(*strings.Reader).Reset(v, s)`, `h := (*strings.Reader).Len; (*strings.Reader).Reset(v, s); _ = h`},
		`var v strings.Builder`:            {`(*strings.Builder).WriteString(&v, s)`, `(*strings.Builder).Reset(&v)`, `w := v.WriteString; w(s)`},
		`var v = regexp.MustCompile("a")`:  {`(*regexp.Regexp).Longest(v)`, `func(g func(*regexp.Regexp)) { g(v) }((*regexp.Regexp).Longest)`},
		`var v = list.New()`:               {`(*list.List).PushBack(v, s)`, `(*list.List).Init(v)`},
		`var v = new(big.Int)`:             {`(*big.Int).SetInt64(v, 1)`, `(*big.Int).Add(v, v, v)`},
		`var v = bytes.NewBuffer(nil)`:     {`(*bytes.Buffer).WriteString(v, s)`, `fmt.Fprint(v, s)`, `io.WriteString(v, s)`, `io.Writer.Write(v, []byte(s))`},
	} {
		for _, call := range calls {
			roads = append(roads,
				road{call, original, decl + "\nfunc f(s string) string { " + call + "; return s }",
					"package variable v"})
		}
	}
	try(t, roads)
	// A road that needs no package variable must not end the program when the policy refuses it.
	try(t, []road{
		{"a parameter", `func f(re *regexp.Regexp) { re.String() }`, `func f(re *regexp.Regexp) { (*regexp.Regexp).Longest(re) }`, "argument re"},
		{"a fresh one", `func f(s string) string { return s }`,
			`func f(s string) string { var b strings.Builder; (*strings.Builder).WriteString(&b, s); return (*strings.Builder).String(&b) }`, ""},
		{"reading", `func f(s string) string { return s }`,
			"var re = regexp.MustCompile(`a`)\nfunc f(s string) string { return (*regexp.Regexp).FindString(re, s) }", ""},
	})
}

// TestRoads tries ways to memory that outlives a call, other than a package variable's name.
func TestRoads(t *testing.T) {
	const original = `func f(s string) string { return s }`
	const timed = `func f(s string, t time.Time) string { return s + t.Location().String() }`
	try(t, []road{
		{"names of groups", original, "var re = regexp.MustCompile(`(a)`)\nfunc f(s string) string { re.SubexpNames()[1] = s; return s }", "package variable re"},
		{"joined errors", original, `var e = errors.Join(errors.New(""))
			func f(s string) string { e.(interface{ Unwrap() []error }).Unwrap()[0] = errors.New(s); return s }`,
			"package variable e"},
		{"errors that wrap two", original, `var e = fmt.Errorf("%w%w", errors.New(""), errors.New(""))
			func f(s string) string { e.(interface{ Unwrap() []error }).Unwrap()[0] = errors.New(s); return s }`,
			"package variable e"},
		{"a table of crc32", original, `func f(s string) string { crc32.MakeTable(crc32.IEEE)[0]++; return s }`, "crc32.MakeTable"},
		{"a table of crc32, named", original, `func f(s string) string { t := crc32.MakeTable(crc32.Castagnoli); t[3] = uint32(len(s)); return s }`, "crc32.MakeTable"},
		{"a table of crc64", original, `func f(s string) string { crc64.MakeTable(crc64.ISO)[0]++; return s }`, "crc64.MakeTable"},
		{"a compiled expression", original, `func f(s string) string { re, _ := syntax.Parse(s, 0); p, _ := syntax.Compile(re); p.Inst[0].Rune[0]++; return s }`, "syntax.Compile"},
		{"the zone of a time", timed, `func f(s string, t time.Time) string { *t.Location() = *time.FixedZone(s, 1); return s }`, "Location"},
		{"the zone of no time", original, `func f(s string) string { *time.Time{}.Location() = *time.FixedZone(s, 1); return s }`, "Location"},
		{"UTC", original, `func f(s string) string { *time.UTC = *time.FixedZone(s, 1); return s }`, "time.UTC"},
		{"a result that leads in", original, "var words = map[string]*int{}\nfunc f(s string) string { if p := words[s]; p != nil { *p++ }; return s }", "package variable words"},
		{"a value from a method", original, `type T struct{ m map[string]string }
			var shared = T{map[string]string{}}
			func (t T) table() map[string]string { return t.m }
			func f(s string) string { shared.table()[s] = s; return s }`, "package variable shared"},
		{"behind an interface", original, `type adder interface{ add(string) }
			type list struct{ s []string }
			func (l *list) add(s string) { l.s = append(l.s, s) }
			var a adder = &list{}
			func f(s string) string { a.add(s); return s }`, "package variable a"},
		{"by a closure in a variable", original, "var n int\nvar g = func() int { n++; return n }\nfunc f(s string) string { if g() < 0 { return s }; return s }", "package variable n"},
		{"in a table of functions", original, "var n int\nfunc up() int { n++; return n }\nvar gs = [...]func() int{up}\nfunc f(s string) string { if gs[0]() < 0 { return s }; return s }", "package variable n"},
		{"a sorted list", original, "var words = []string{\"b\", \"a\"}\nfunc f(s string) string { sort.Sort(sort.StringSlice(words)); return s }", "package variable words"},
		{"a callback's argument", original, "var tabs = [][]int{{1}}\nfunc f(s string) string { slices.ContainsFunc(tabs, func(t []int) bool { t[0]++; return false }); return s }", "package variable tabs"},
		{"an iterator", original, "var tabs = [][]int{{1}}\nfunc f(s string) string { for t := range slices.Values(tabs) { t[0]++ }; return s }", "package variable tabs"},
		{"deferred", original, "var n [4]int\nfunc f(s string) string { defer func(p *[4]int) { p[0]++ }(&n); return s }", "package variable n"},
		{"an argument's address", `func f(b []byte) int { return len(b) }`, `var last map[*byte]int
			func f(b []byte) int { return last[&b[0]] }`, "hold a pointer"},
		{"a panic with a variable's address", original, "var buf [4]byte\nfunc f(s string) string { if s == \"q\" { panic(&buf) }; return s }", "package variable buf"},
		{"a panic with a list", original, "var buf = []int{1}\nfunc f(s string) string { if s == \"q\" { panic(buf[:1]) }; return s }", "package variable buf"},
		{"a panic in a helper", original, "type p struct{ b *[4]byte }\nvar buf [4]byte\nfunc die(v any) { panic(v) }\nfunc f(s string) string { if s == \"q\" { die(p{&buf}) }; return s }", "package variable buf"},
		{"a panic in a closure", original, "var buf [4]byte\nfunc f(s string) string { func() { if s == \"q\" { panic(&buf) } }(); return s }", "package variable buf"},
		{"an error that holds a table", `type e struct{ b []int }
			func (x *e) Error() string { return "" }
			func f(s string) error { return &e{[]int{1}} }`, `type e struct{ b []int }
			func (x *e) Error() string { return "" }
			var table = []int{1}
			func f(s string) error { return &e{table} }`, "package variable table"},
		// The rest is honest code.
		{"an error that holds a copy", `type e struct{ b []int }
			func (x *e) Error() string { return "" }
			func f(s string) error { return &e{[]int{1}} }`, `type e struct{ b []int }
			func (x *e) Error() string { return "" }
			var table = []int{1}
			func f(s string) error { return &e{slices.Clone(table)} }`, ""},
		{"an error of a table", `func f(s string) error { return io.EOF }`, `var known = map[string]error{"": io.EOF}
			func f(s string) error { if e := known[s]; e != nil { return fmt.Errorf("%s: %w", s, e) }; return known[""] }`, ""},
		{"a result with an error of a table", `type r struct{ err error }
			func f(s string) *r { return &r{io.EOF} }`, `type r struct{ err error }
			var known = []error{io.EOF}
			func f(s string) *r { out := &r{known[0]}; return out }`, ""},
		{"a panic with a copy", original, "var buf [4]byte\nfunc f(s string) string { if s == \"q\" { b := buf; panic(&b) }; return s }", ""},
		{"a panic with an error", original, "var e = errors.New(\"e\")\nfunc f(s string) string { if s == \"q\" { panic(e) }; return s }", ""},
		{"a panic with text of a table", original, "var texts = [2]string{\"a\", \"b\"}\nfunc f(s string) string { if s == \"q\" { panic(texts[1]) }; return s }", ""},
		{"a fresh table", original, `func f(s string) string { t := *crc32.MakeTable(crc32.IEEE); t[0]++; return s }`, ""},
		{"a checksum", `func f(b []byte) uint32 { return crc32.ChecksumIEEE(b) }`, "var t = crc32.MakeTable(crc32.IEEE)\nfunc f(b []byte) uint32 { return crc32.Checksum(b, t) }", ""},
		{"a builder", original, `func f(s string) string { var b strings.Builder; b.Grow(len(s)); b.WriteString(s); fmt.Fprintf(&b, "%d", 1); return b.String() }`, ""},
		{"a scratch buffer", `func f(s string) []byte { return []byte(s) }`, `func f(s string) []byte { var buf [64]byte; b := append(buf[:0], s...); return slices.Clone(b) }`, ""},
		{"a struct with both", `func f(b []byte) []byte { return slices.Clone(b) }`, `type st struct{ in, out []byte }
			func (s *st) step(i int) { s.out[i] = s.in[i] }
			func f(b []byte) []byte { s := &st{in: b, out: make([]byte, len(b))}; for i := range b { s.step(i) }; return s.out }`,
			""},
		{"a struct from a constructor", `func f(b []byte) []byte { return slices.Clone(b) }`,
			`type st struct{ in, out []byte }
			func newSt(b []byte) *st { return &st{in: b, out: make([]byte, len(b))} }
			func (s *st) step(i int) { s.out[i] = s.in[i] }
			func f(b []byte) []byte { s := newSt(b); for i := range b { s.step(i) }; return s.out }`, ""},
		{"a sorted copy", `func f(b []string) []string { c := append([]string{}, b...); sort.Strings(c); return c }`,
			`func f(b []string) []string { c := slices.Clone(b); slices.Sort(c); return c }`, ""},
		{"what the original writes", `func f(b []byte) { for i := range b { b[i] = 0 } }`, `func f(b []byte) { clear(b) }`, ""},
		{"a field that the original writes", "type T struct{ n, m int }\nfunc f(t *T) { t.n++ }", "type T struct{ n, m int }\nfunc f(t *T) { p := &t.n; *p = *p + 1 }", ""},
		{"another field", "type T struct{ n, m int }\nfunc f(t *T) { t.n++ }", "type T struct{ n, m int }\nfunc f(t *T) { t.n++; t.m = t.n }", "field m"},
		{"a stack of shared nodes", "type N struct{ l, r *N }\nvar tree = &N{}\nfunc f(s string) int { return len(s) }",
			"type N struct{ l, r *N }\nvar tree = &N{}\nfunc f(s string) int { n := 0; stack := []*N{tree}; for len(stack) > 0 { t := stack[len(stack)-1]; stack = stack[:len(stack)-1]; if t != nil { n++; stack = append(stack, t.l, t.r) } }; return n }", ""},
		{"JSON", `func f(b []byte) (map[string]int, error) { return nil, nil }`, `func f(b []byte) (m map[string]int, err error) { err = json.Unmarshal(b, &m); return m, err }`, ""},
		{"a hash", `func f(b []byte) [32]byte { return sha256.Sum256(b) }`, `func f(b []byte) (out [32]byte) { h := sha256.New(); h.Write(b); h.Sum(out[:0]); return out }`, ""},
		{"times", timed, `func f(s string, t time.Time) string { return s + t.In(time.UTC).Add(time.Hour).Location().String() }`, ""},
		{"a custom error", `func f(s string) error { return nil }`, `type e struct{ s string }
			func (x *e) Error() string { return x.s }
			func f(s string) error { if s == "" { return &e{s} }; return nil }`, ""},
	})
}

// TestIdentity checks that no decision may depend on where memory lies, or on the machine.
func TestIdentity(t *testing.T) {
	const of = `func f(b []byte) int { return len(b) }`
	const number = `func f(n int) int { return n }`
	try(t, []road{
		{"two elements' addresses", of, `func f(b []byte) int { if &b[0] == &b[len(b)-1] { return 1 }; return len(b) }`, "pointer"},
		{"the address in a map", of, "var seen = map[*byte]int{}\nfunc f(b []byte) int { return seen[&b[0]] }", "pointer"},
		{"a struct with an address", of, `type k struct { p *byte; n int }
			func f(b []byte) int { m := map[k]int{}; return len(b) + m[k{&b[0], 1}] }`, "pointer"},
		{"in a switch", of, `func f(b []byte) int { p := &b[0]; switch p { case &b[1]: return 0 }; return len(b) }`, "pointer"},
		{"by slices.Index", of, `func f(b []byte) int { return slices.Index([]*byte{&b[1]}, &b[0]) }`, "pointer"},
		{"with nil", `func f(p *int) int { return 0 }`, `func f(p *int) int { if p == nil { return 0 }; return 0 }`, ""},
		{"as the original", `func f(p, q *int) bool { return p == q }`, `func f(p, q *int) bool { if p != q { return false }; return true }`, ""},
		{"a sentinel", `func f(err error) bool { return err == io.EOF }`, `func f(err error) bool { if err == io.EOF { return true }; return false }`, ""},
		{"the top bit of a word", number, `func f(n int) int { if ^uint(0)>>32 == 0 { return 0 }; return n }`, "word"},
		{"a named one", number, `const w = 32 << (^uint(0) >> 63)
			func f(n int) int { if w == 32 { return 0 }; return n }`, "word"},
		{"its size", number, `func f(n int) int { if unsafe.Sizeof(n) == 4 { return 0 }; return n }`, "unsafe"},
		{"the greatest number", number, `func f(n int) int { if math.MaxInt == math.MaxInt32 { return 0 }; return n }`, "word"},
		{"bits.UintSize", number, `func f(n int) int { if bits.UintSize == 32 { return 0 }; return n }`, "UintSize"},
		{"a system's separator", number, `func f(n int) int { if os.PathSeparator == '/' { return 0 }; return n }`, "PathSeparator"},
		{"strconv.IntSize", number, `func f(n int) int { if strconv.IntSize == 32 { return 0 }; return n }`, "IntSize"},
		{"a bound", number, `func f(n int) int { if n > math.MaxInt/10 { return 0 }; return n }`, ""},
		{"a least one", `func f(b []int) int { return 0 }`, `func f(b []int) int { m := math.MaxInt; for _, x := range b { m = min(m, x) }; return m }`, ""},
	})
}

// TestChance checks that the policy refuses randomness from any source.
func TestChance(t *testing.T) {
	const original = `func f(n int) int { return n }`
	try(t, []road{
		{"math/rand", original, `func f(n int) int { if rand.IntN(1e6) == 0 { n++ }; return n }`, "random"},
		{"maphash", original, "var seed = maphash.MakeSeed()\nfunc f(n int) int { if maphash.String(seed, \"a\")&0xfffff == 0 { n++ }; return n }", "random"},
		{"the clock", original, `func f(n int) int { if time.Now().UnixNano()&0xfffff == 0 { n++ }; return n }`, "clock"},
		{"memory statistics", original, `func f(n int) int { var m runtime.MemStats; runtime.ReadMemStats(&m); return n }`, "runtime"},
		{"goroutines", original, `func f(n int) int { return n + runtime.NumGoroutine() }`, "runtime"},
		{"select", original, `func f(n int) int { c := make(chan int, 1); d := make(chan int, 1); c <- 1; d <- 1; select { case <-c: n++; case <-d: }; return n }`, "channel"},
		{"a pool", original, "var p sync.Pool\nfunc f(n int) int { if p.Get() != nil { n++ }; p.Put(1); return n }", "sync"},
		{"the order of a map", original, `func f(n int) int { m := map[int]int{1: 1, 2: 2}; for k := range m { n = k; break }; return n }`, "map"},
		{"an address as text", original, `func f(n int) int { return len(fmt.Sprintf("%p", &n)) }`, "%p"},
	})
}

// TestMapOrder checks that the policy refuses a loop over a map whose calls leave something that
// depends on the order.
func TestMapOrder(t *testing.T) {
	const original = `func f(m map[string]int) string { return "" }`
	loop := func(before, body string) string {
		return before + "\nfunc f(m map[string]int) (s string) { " + body + "; return s }"
	}
	const kept = "type seen struct{ s []string; last string }\nfunc (x *seen) add(k string) { x.s = append(x.s, k) " +
		"}\nfunc (x *seen) has(k string) bool { return x.last == k }"
	try(t, []road{
		{"a builder", original, loop("", `var b strings.Builder; for k := range m { b.WriteString(k) }; s = b.String()`), "map"},
		{"a builder, printed to", original, loop("", `var b strings.Builder; for k := range m { fmt.Fprint(&b, k) }; s = b.String()`), "map"},
		{"a method that keeps", original, loop(kept, `var x seen; for k := range m { x.add(k) }; s = x.s[0]`), "map"},
		{"a closure that keeps", original, loop("", `set := func(k string) { s = k }; for k := range m { set(k) }`), "map"},
		{"copy", original, loop("", `var b [9]byte; for k := range m { copy(b[:], k) }; s = string(b[:])`), "map"},
		{"EqualFunc", original, loop("", `maps.EqualFunc(m, m, func(a, b int) bool { if a > 0 { s = strconv.Itoa(a) }; return true })`), "map"},
		{"DeleteFunc", original, loop("", `n := maps.Clone(m); maps.DeleteFunc(n, func(k string, v int) bool { s = k; return false })`), "map"},
		{"an iterator", original, loop("", `var b bytes.Buffer; for k := range maps.Keys(m) { b.WriteString(k) }; s = b.String()`), "map"},
		{"an assignment", original, loop("", `for k := range m { s = k }`), "map"},
		{"a sum", `func f(m map[string]int) int { return 0 }`, `func f(m map[string]int) (n int) { for k, v := range m { n += v + len(strings.TrimSpace(k)) }; return n }`, ""},
		{"a question", original, loop(kept, `var x seen; n := 0; for k := range m { if x.has(k) { n++ } }; s = strconv.Itoa(n)`), ""},
		{"a sorted list", original, loop("", `var ks []string; for k := range m { ks = append(ks, k) }; slices.Sort(ks); s = strings.Join(ks, "")`), ""},
		{"another map", original, loop("", `n := map[string]bool{}; for k := range m { n[strings.ToLower(k)] = true }; s = strconv.Itoa(len(n))`), ""},
		{"equal maps", original, loop("", `if maps.EqualFunc(m, m, func(a, b int) bool { return a == b }) { s = "a" }`), ""},
	})
}

// TestVocabulary checks that a literal counts as copied if it answers an input, not merely because
// it equals a result.
func TestVocabulary(t *testing.T) {
	k := new(KnownValues)
	for _, s := range []string{"level=info msg=started", "production", "POST"} {
		k.addString(s, "an argument")
	}
	for _, s := range []string{"info", "warning", "error", "service_name_of_the_host"} {
		k.addString(s, "a result")
	}
	for _, n := range []uint64{3600e9, 86400e9, 604800, 267914296} {
		k.addInt(n, false, "a result")
	}
	const original = `func f(s string) string { return s }`
	for _, r := range []road{
		{"words of a vocabulary", original, `func f(s string) string { switch s[6:10] { case "info": return "info"; case "erro": return "error" }; return s }`, ""},
		{"a unit of time", original, `func f(s string) string { if len(s) > 3600000000000 { return "" }; return s }`, ""},
		{"a named unit", original, `func f(s string) string { if time.Duration(len(s)) > 7*24*time.Hour { return "" }; return s }`, ""},
		{"a prefix", original, `func f(s string) string { if strings.HasPrefix(s, "POST") { return s }; return s }`, ""},
		{"a piece", original, `func f(s string) string { if len(s) > 4 && s[:4] == "POST" { return s }; return s }`, ""},
		{"what the original spells", `func f(s string) string { if s == "production" { return "" }; return s }`, `func f(s string) string { switch s { case "production": return "" }; return s }`, ""},
		{"a whole input", original, `func f(s string) string { if s == "production" { return "info" }; return s }`, "production"},
		{"in a map", original, "var m = map[string]string{\"production\": \"info\"}\nfunc f(s string) string { if r, ok := m[s]; ok { return r }; return s }", "production"},
		{"a long result", original, `func f(s string) string { if len(s) == 7 { return "service_name_of_the_host" }; return s }`, "service_name"},
		{"a number", `func f(n int) int { return n }`, `func f(n int) int { if n == 42 { return 267914296 }; return n }`, "267914296"},
	} {
		t.Run(r.name, func(t *testing.T) {
			list := forbidden(read(t, importing(r.original)), read(t, importing(r.candidate)), k)
			if (r.want == "") != (len(list) == 0) || !strings.Contains(fmt.Sprint(list), r.want) {
				t.Errorf("want %q, got %v", r.want, list)
			}
		})
	}
	many := new(KnownValues)
	var cases strings.Builder
	for i := range 2 * maxWords {
		word := fmt.Sprintf("w%dx%d", i, i*i)
		many.addString(word, "a result")
		fmt.Fprintf(&cases, "case %d: return %q\n", i, word)
	}
	list := forbidden(read(t, importing(original)),
		read(t, importing("func f(s string) string { switch len(s) {\n"+cases.String()+"}; return s }")), many)
	if len(list) == 0 {
		t.Error("a corpus by heart passed")
	}
}
