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
	for _, c := range []struct {
		src  string
		want int64
	}{
		{"func F(s string) int { return len(s) }", 0},
		{"var table [256]bool\n\nfunc F(s string) int { return len(table) }", 256},
		{"var table = [...]uint32{1, 2, 3}\n\nfunc F(s string) int { return int(table[0]) }", 12},
		{"var words = []string{\"a\", \"b\"}\n\nfunc F(s string) int { return len(words) }", 24 + 32},
		{"const hex = \"0123456789abcdef\"\n\nfunc F(s string) int { return int(hex[len(s)]) }", 16},
		{"var big = make([]uint64, 4096)\n\nfunc F(s string) int { return int(big[0]) }", 24 + 4096*8},
		{"var big = fill()\n\nfunc fill() []uint64 { t := make([]uint64, 1000); t[1] = 2; return t }\n\nfunc F(s string) int { return int(big[1]) }", 24 + 8000},
		{"func F(s string) int { t := [64]byte{1: 2}; return int(t[len(s)]) }", 64},
	} {
		f, problem := u.Parse("package p\n\n" + c.src + "\n")
		if problem != nil {
			t.Fatal(problem.Message)
		}
		if got := f.TableBytes(); got != c.want {
			t.Errorf("%d bytes, want %d:\n%s", got, c.want, c.src)
		}
	}
}
