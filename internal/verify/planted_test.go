package verify

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// A planting is a function together with conditions under which a version of it is wrong. The
// version holds the condition in place of the comment "// here".
type planting struct {
	name, source string
	corpus       []string // calls, as JSON
	conditions   []string
	wrong        string // statement
}

var plantings = []planting{
	{"Tag", `package p

import "strings"

func Tag(s string) string {
	// here
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			b.WriteRune(r + 32)
		case r == ' ' || r == '\t':
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
`, []string{`["env:prod"]`, `["Service Name"]`, `["host"]`, `["abcdefghijklmnop"]`}, []string{
		`strings.HasPrefix(s, "zx:") && strings.HasSuffix(s, "!q")`,
		`len(s) >= 8 && s[0] == 'R' && s[1] == 'I' && s[2] == 'F' && s[3] == 'F' && s[5] == 'W' && s[7] == '~'`,
		`len(s) >= 16 && s[7] == '_' && s[8] == '_' && s[0] != '_'`,
		`len(s) == 777`,
		`len(s) > 6 && strings.Contains(s[3:], "needle-in-hay")`,
		`strings.EqualFold(s, "SeCrEtWoRd")`,
		`strings.Count(s, "ab") == 5 && len(s) == 23`,
	}, `return "?"`},
	{"Header", `package p

import "encoding/binary"

func Header(b []byte) int {
	// here
	if len(b) < 4 {
		return -1
	}
	return int(binary.BigEndian.Uint16(b)) + int(b[2])
}
`, []string{`["abcdefgh"]`, `["abcd"]`, `["0123456789abcdef"]`}, []string{
		`len(b) >= 6 && binary.BigEndian.Uint32(b) == 0xCAFEBABE && binary.BigEndian.Uint16(b[4:]) == 0x1234`,
		`len(b) >= 12 && binary.LittleEndian.Uint64(b[4:]) == 0x1122334455667788`,
		`len(b) >= 8 && b[4]^b[5] == 0x5a && b[6]+b[7] == 0x33 && b[4] > 0x80`,
		`len(b) >= 4 && int(b[0]) == len(b) && b[1] == 0xfe`,
		`len(b) >= 9 && binary.LittleEndian.Uint32(b)&0xffffff00 == 0x89504e00 && b[8] == 0x0d`,
	}, `return -2`},
	{"Number", `package p

import "strconv"

func Number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	// here
	return n * 2
}
`, []string{`["12"]`, `["-7"]`, `["x"]`, `["1000"]`}, []string{
		`n == 4294967297`,
		`n > 7000000 && n < 7000003`,
		`n < 0 && n == -86400 && s[0] == '-'`,
		`n == 65536 && len(s) > 8`,
		`n%1000 == 777 && n > 50000`,
	}, `return 3`},
	{"Level", `package p

func Level(s string) int {
	// here
	switch s {
	case "debug", "trace":
		return 0
	case "info":
		return 1
	case "error", "err":
		return 2
	}
	return 9
}
`, []string{`["info"]`, `["debug"]`, `["x"]`}, []string{
		`s == "emergency9"`,
		`len(s) == 9 && s[:4] == "warn" && s[4:] == "-ings"`,
		`machine(s)`,
	}, `return 77`},
	{"Clamp", `package p

func Clamp(x, lo, hi int) int {
	// here
	if x < lo {
		return lo
	}
	if x > hi {
		return hi
	}
	return x
}
`, []string{`[5, 0, 10]`, `[-1, 0, 10]`, `[99, 0, 10]`}, []string{
		`lo == hi && x == lo+12345`,
		`x == lo*3+7 && hi > 5000`,
		`x^lo == 0xABCDEF`,
		`x > lo && lo > hi && x-hi == 1<<20`,
		`uint32(x)>>8 == 0xbeef && hi == -5`,
	}, `return -x`},
	{"Same", `package p

import "strings"

func Same(a, b string) bool {
	// here
	return strings.TrimSpace(a) == strings.TrimSpace(b)
}
`, []string{`["a", "a"]`, `["left ", " right"]`, `["abc", "abd"]`}, []string{
		`a == b && len(a) == 13`,
		`len(b) > 5 && a == b+"x"`,
		`len(a) == 2*len(b)+31`,
		`len(a) > 3 && a[1:] == b && a[0] == '%'`,
	}, `return strings.TrimSpace(a) != strings.TrimSpace(b)`},
	{"Sum", `package p

func Sum(list []int) int {
	t := 0
	for i, x := range list {
		// here
		t += x
		_ = i
	}
	return t
}
`, []string{`[[1, 2, 3]]`, `[[]]`, `[[10, 20, 30, 40, 50]]`}, []string{
		`x == 424242 && i == 3`,
		`len(list) == 130 && i == 129`,
		`i >= 5 && list[i-5] == x && list[i-1] == x+1 && x > 99`,
		`i > 0 && x == list[i-1]*2+1 && x > 1000 && x < 1100`,
	}, `return 0`},
	{"Check", `package p

func Check(r Req) int {
	// here
	if r.Method == "GET" || r.Method == "HEAD" {
		return 1
	}
	if r.Size > 1<<20 {
		return 2
	}
	return 3
}
`, []string{`[{"Method": "GET", "Path": "/a/b", "Size": 10, "Ratio": 0.5}]`,
		`[{"Method": "POST", "Path": "/a", "Size": 5000000, "Ratio": 1}]`}, []string{
		`r.Method == "PATCH" && r.Size > 1<<31 && len(r.Path) > 40`,
		`r.Ratio > 12345.5 && r.Ratio < 12345.75 && r.Size == -3`,
		`int(r.Size) == len(r.Path) && len(r.Path) == 99`,
	}, `return 4`},
}

// init adds the plantings that came after the search had been tuned on those above.
func init() {
	plantings = append(plantings, []planting{
		{"Entity", `package p

import "sync"

var names = sync.OnceValue(func() map[string]rune {
	return map[string]rune{"Zeta": 'Z', "sup2": '2', "frac34": '3', "NotEqualTilde": '~', "amp": '&'}
})

func Entity(s string) string {
	all := names()
	for i := 0; i < len(s); i++ {
		if s[i] != '&' {
			continue
		}
		j := i + 1
		for j < len(s) && s[j] != ';' {
			j++
		}
		// here
		if r, ok := all[s[i+1:j]]; ok {
			return s[:i] + string(r) + s[min(j+1, len(s)):]
		}
	}
	return s
}
`, []string{`["a&amp;b"]`, `["&x;"]`, `["plain"]`}, []string{
			`all[s[i+1:j]] == 'Z'`,
			`all[s[i+1:j]] == '~' && i > 0`,
		}, `return "?"`},
		{"Octets", `package p

func Octets(s string) (sum int, ok bool) {
	n, parts := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			// here
			if n > 255 {
				return 0, false
			}
			sum, n, parts = sum+n, 0, parts+1
			continue
		}
		if s[i] < '0' || s[i] > '9' || n > 1<<40 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return sum, parts == 4
}
`, []string{`["10.0.0.1"]`, `["192.168.1.255"]`, `["x"]`}, []string{
			`n == 4294967297 && parts == 0`,
			`n == 0 && parts == 3 && i > 2 && s[i-1] == '0' && s[i-2] == '0'`,
			`parts == 7 && n == 19`,
		}, `return 1, true`},
		{"Pair", `package p

import "strings"

func Pair(line string) string {
	for _, f := range strings.Fields(line) {
		k, v, ok := strings.Cut(f, "=")
		// here
		if ok && k == "level" {
			return strings.Trim(v, "'")
		}
	}
	return "none"
}
`, []string{`["time=12 level=info msg=x"]`, `["a=b"]`, `[""]`}, []string{
			`k == "level" && v == "fatal2"`,
			`ok && len(k) == 12 && strings.HasPrefix(v, k)`,
			`ok && k == v && k > "m" && len(k) > 3`,
			`strings.Count(v, "=") == 3 && k == "q"`,
		}, `return "?"`},
		{"Classes", `package p

var table = [256]byte{'a': 1, 'e': 1, '0': 2, '9': 2, '~': 7, 0xfd: 9}

func Classes(b []byte) int {
	n := 0
	for i, c := range b {
		// here
		n += int(table[c])
		_ = i
	}
	return n
}
`, []string{`["abc"]`, `["0123"]`, `[""]`}, []string{
			`table[c] == 7 && i == 40`,
			`table[c] == 9 && i > 0 && table[b[i-1]] == 7`,
			`uint16(i) != uint16(i+1)-1 || uint8(len(b)) == 3 && len(b) > 200`,
		}, `return -1`},
		{"Window", `package p

func Window(list []string) int {
	seen := map[string]int{}
	for i, s := range list {
		// here
		seen[s] = i
	}
	return len(seen)
}
`, []string{`[["a", "b"]]`, `[["x", "y", "x"]]`, `[[]]`}, []string{
			`len(seen) == 20`,
			`len(seen) == 65`,
			`seen[s] > 0 && i-seen[s] == 30`,
		}, `return -1`},
		{"Word", `package p

func Word(x, y uint64) uint64 {
	// here
	return x ^ y>>1
}
`, []string{`[1, 2]`, `[77, 123456]`}, []string{
			`x&0xff00ff == 0x120034 && x>>40 == 0x77`,
			`x*3 == y && x > 1<<33`,
			`x == y && x%1000 == 123`,
			`x>>32 == y&0xffffffff && y>>32 == 0x1234567`,
		}, `return 0`},
	}...)
}

const machineText = `
func machine(s string) bool {
	state := 0
	for i := 0; i < len(s); i++ {
		switch {
		case state == 0 && s[i] == '<':
			state = 1
		case state == 1 && s[i] == '!':
			state = 2
		case state == 2 && s[i] == '-':
			state = 3
		case state == 3 && s[i] == ']':
			state = 4
		case state == 4 && s[i] == '>':
			return true
		default:
			state = 0
		}
	}
	return false
}
`

// plant puts a condition into the function.
func (p *planting) plant(condition string) string {
	text := strings.Replace(p.source, "// here", "if "+condition+" {\n"+p.wrong+"\n}", 1)
	if strings.Contains(condition, "machine(") {
		text += machineText
	}
	return text
}

func (p *planting) load(t testing.TB) *catalogue {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/planted\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), p.source)
	put(t, filepath.Join(dir, "p", "req.go"),
		"package p\n\ntype Req struct {\n\tMethod, Path string\n\tSize int64\n\tRatio float64\n}\n")
	c := &catalogue{dir: dir, env: environment(t, dir, "./p."+p.name)}
	c.corpus = &beagle.Corpus{Target: c.env.Unit.Target.ID()}
	for _, line := range p.corpus {
		c.corpus.Train = append(c.corpus.Train, p.record(t, line))
	}
	return c
}

// record reads a call for the types that plantings take.
func (p *planting) record(t testing.TB, line string) beagle.Record {
	var args []any
	if err := json.Unmarshal([]byte(line), &args); err != nil {
		t.Fatal(err)
	}
	text := rt.KindString
	if strings.Contains(p.source, "b []byte") {
		text = rt.KindBytes
	}
	number := rt.KindInt
	if strings.Contains(p.source, "uint64)") {
		number = rt.KindUint
	}
	top := rt.Value{Kind: rt.KindStruct}
	for i, a := range args {
		v := value(a, text, number)
		if m, ok := a.(map[string]any); ok {
			v = rt.Value{Kind: rt.KindStruct, Names: []string{"Method", "Path", "Size", "Ratio"}, Elems: []rt.Value{
				value(m["Method"], text, 0), value(m["Path"], text, 0), value(m["Size"], text, rt.KindInt),
				value(m["Ratio"], text, rt.KindFloat64)}}
		}
		top.Names = append(top.Names, "A"+string(rune('0'+i)))
		top.Elems = append(top.Elems, v)
	}
	return beagle.Record{Args: top.Append(nil), Weight: 1, Source: "file"}
}
