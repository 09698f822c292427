package source

import "testing"

func TestTableBytes(t *testing.T) {
	u := load(t, module(t, `
-- go.mod --
module example.com/p

go 1.24
-- p.go --
package p

func F(s string) int { return len(s) }
`), "F")
	const unknown = -1
	for _, c := range []struct {
		src  string
		want int64
	}{
		{"func F(s string) int { return len(s) }", 0},
		{"var table [256]bool\n\nfunc F(s string) int { return len(table) }", 256},
		{"var table = [...]uint32{1, 2, 3}\n\nfunc F(s string) int { return int(table[0]) }", 12},
		{"var words = []string{\"a\", \"b\"}\n\nfunc F(s string) int { return len(words) }", 24 + 32 + 2},
		{"const hex = \"0123456789abcdef\"\n\nfunc F(s string) int { return int(hex[len(s)]) }", 16},
		{"var big = make([]uint64, 4096)\n\nfunc F(s string) int { return int(big[0]) }", 24 + 4096*8},
		{"var big = fill()\n\nfunc fill() []uint64 { t := make([]uint64, 1000); t[1] = 2; return t }\n\nfunc F(s string) int { return int(big[1]) }", 24 + 8000},
		{"func F(s string) int { t := [64]byte{1: 2}; return int(t[len(s)]) }", 64},
		// Beside what a declaration shows.
		{"var big = fill()\n\nfunc fill() *[1 << 16]uint16 { t := new([1 << 16]uint16); t[1] = 2; return t }\n\nfunc F(s string) int { return int(big[len(s)]) }", 8 + 2<<16},
		{"var big = func() *[5000]byte { var t [5000]byte; t[1] = 2; return &t }()\n\nfunc F(s string) int { return int(big[len(s)]) }", 8 + 5000},
		{"var big = fill()\n\nfunc fill() (t []uint16) { for i := range 9000 { t = append(t, uint16(i)) }; return t }\n\nfunc F(s string) int { return int(big[len(s)]) }", unknown},
		{"var big = []uint16{9999: 1}\n\nfunc F(s string) int { return int(big[len(s)]) }", 24 + 20000},
		{"var big = []uint16{'z': 1, 2, 3, 'a': 4}\n\nfunc F(s string) int { return int(big[len(s)]) }", 24 + 2*('z'+3)},
		{"func F(s string) int { t := []uint16{9999: 1}; return int(t[len(s)]) }", 20000},
		{"type table struct{ rows []*[512]byte }\n\nvar big = table{rows: []*[512]byte{{1}, {2}}}\n\nfunc F(s string) int { return int(big.rows[0][0]) }", 24 + 16 + 1024},
		{"var big = map[string]*[512]byte{\"a\": {1}}\n\nfunc F(s string) int { return int(big[s][0]) }", 8 + 16 + 8 + 1 + 512},
		{"var big = make([]uint64, size())\n\nfunc size() int { return 9000 }\n\nfunc F(s string) int { return int(big[0]) }", unknown},
		{"var big = make(map[string]int)\n\nfunc F(s string) int { return int(big[s]) }", unknown},
		{"var big = []byte(\"abc\")\n\nfunc F(s string) int { return int(big[0]) }", 24 + 3},
		{"var big, n = both()\n\nfunc both() ([]int, int) { return make([]int, 9), 1 }\n\nfunc F(s string) int { return big[n] }", unknown},
		{"var step func(int) int = next\n\nfunc next(n int) int { return n + 1 }\n\nfunc F(s string) int { return step(1) }", 8},
		{"type pair[T any] struct {\n\tat [2]T\n\tn  int\n}\n\nfunc of[T any](v T) int { p := pair[T]{at: [2]T{v, v}, n: 1}; return p.n }\n\nfunc F(s string) int { return of(s) }", 24},
		{"func F(s string) int { return int(\"0123456789\"[len(s)]) }", 10},
	} {
		f, problem := u.Reader.Parse("package p\n\n" + c.src + "\n")
		if problem != nil {
			t.Fatal(problem.Message)
		}
		got, known := f.TableBytes()
		if known != (c.want != unknown) || known && got != c.want {
			t.Errorf("%d bytes, known: %v, want %d:\n%s", got, known, c.want, c.src)
		}
	}
}
