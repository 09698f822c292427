package inplace

import (
	"testing"

	"github.com/beagle-go/beagle"
)

// The tests of these modules let nothing fail.

func TestWriterFails(t *testing.T) {
	judgeAll(t, map[string]string{"w.go": `package place

import "io"

func Rows(w io.Writer, rows [][]string) (int, error) {
	total := 0
	for _, row := range rows {
		line := ""
		for _, cell := range row {
			line += cell + ";"
		}
		n, err := io.WriteString(w, line)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
`, "w_test.go": `package place

import (
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	var b strings.Builder
	n, err := Rows(&b, [][]string{{"one", "two"}, {"three"}, {"four"}})
	if n != b.Len() || err != nil {
		t.Fatal(n, err)
	}
}
`}, "./.Rows", beagle.ByTape, []planted{
		{"honest", rows(`n, err := io.WriteString(w, string(line))
		total += n
		if err != nil {
			return total, err
		}`), beagle.Equal, ""},
		{"the last error is lost", rows(`n, err := io.WriteString(w, string(line))
		total += n
		if err != nil && i < len(all)-1 {
			return total, err
		}`), beagle.Wrong, "result"},
		{"it counts what it meant to write", rows(`_, err := io.WriteString(w, string(line))
		if total += len(line); err != nil {
			return total, err
		}`), beagle.Wrong, "result"},
		{"it goes on", rows(`n, err := io.WriteString(w, string(line))
		total += n
		defer func() {
			if failed == nil {
				failed = err
			}
		}()`), beagle.Wrong, "trace"},
	})
}

func rows(write string) string {
	return `package place

import "io"

func Rows(w io.Writer, all [][]string) (total int, failed error) {
	var line []byte
	for i, row := range all {
		_ = i
		line = line[:0]
		for _, cell := range row {
			line = append(append(line, cell...), ';')
		}
		` + write + `
	}
	return total, failed
}
`
}

func TestReaderFails(t *testing.T) {
	judgeAll(t, map[string]string{"r.go": `package place

import "io"

func Lines(r io.Reader) (int, error) {
	buf, lines := make([]byte, 64), 0
	for {
		n, err := r.Read(buf)
		for _, c := range buf[:n] {
			if c == '\n' {
				lines++
			}
		}
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}
`, "r_test.go": `package place

import (
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	for i := range 20 {
		if n, err := Lines(strings.NewReader(strings.Repeat("a line\n", i))); n != i || err != nil {
			t.Fatal(n, err)
		}
	}
}
`}, "./.Lines", beagle.ByTape, []planted{
		{"honest", reads(`lines += bytes.Count(buf[:n], newline)
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}`), beagle.Equal, ""},
		{"the end before the bytes", reads(`if err == io.EOF {
			return lines, nil
		}
		lines += bytes.Count(buf[:n], newline)
		if err != nil {
			return lines, err
		}`), beagle.Wrong, "result"},
		{"no bytes are the end", reads(`lines += bytes.Count(buf[:n], newline)
		if n == 0 && (err == nil || err == io.EOF) {
			return lines, nil
		}
		if err != nil && err != io.EOF {
			return lines, err
		}`), beagle.Wrong, "trace"},
		{"every error is the end", reads(`lines += bytes.Count(buf[:n], newline)
		if err != nil {
			return lines, nil
		}`), beagle.Wrong, "result"},
	})
}

func reads(then string) string {
	return `package place

import (
	"bytes"
	"io"
)

func Lines(r io.Reader) (int, error) {
	newline := []byte{'\n'}
	buf, lines := make([]byte, 64), 0
	for {
		n, err := r.Read(buf)
		` + then + `
	}
}
`
}

func TestCallbackPanics(t *testing.T) {
	judgeAll(t, map[string]string{"c.go": `package place

func Apply(xs []int, f func(int) int) {
	for i := 0; i < len(xs); i++ {
		xs[i] = f(xs[i])
	}
}
`, "c_test.go": `package place

import "testing"

func TestApply(t *testing.T) {
	xs := []int{1, 2, 3, 4, 5}
	Apply(xs, func(x int) int { return x + 1 })
	if xs[4] != 6 {
		t.Fatal(xs)
	}
}
`}, "./.Apply", beagle.ByTape, []planted{
		{"honest", "package place\n\nfunc Apply(xs []int, f func(int) int) {\n\tfor i, x := range xs {\n\t\txs[i] = f(x)\n\t}\n}\n",
			beagle.Equal, ""},
		{"writes later", `package place

func Apply(xs []int, f func(int) int) {
	i := 0
	for ; i+1 < len(xs); i += 2 {
		a, b := f(xs[i]), f(xs[i+1])
		xs[i], xs[i+1] = a, b
	}
	if i < len(xs) {
		xs[i] = f(xs[i])
	}
}
`, beagle.Wrong, "argument"},
	})
}

func TestCallbackStops(t *testing.T) {
	judgeAll(t, map[string]string{"c.go": `package place

import "strings"

func Each(s string, f func(string) bool) bool {
	for _, w := range strings.Fields(s) {
		if !f(w) {
			return false
		}
	}
	return true
}
`, "c_test.go": `package place

import "testing"

func TestEach(t *testing.T) {
	n := 0
	if !Each("a few words here", func(w string) bool { n += len(w); return true }) || n != 13 {
		t.Fatal(n)
	}
}
`}, "./.Each", beagle.ByTape, []planted{
		{"honest", "package place\n\nimport \"strings\"\n\nfunc Each(s string, f func(string) bool) bool {\n" +
			"\tfor w := range strings.FieldsSeq(s) {\n\t\tif !f(w) {\n\t\t\treturn false\n\t\t}\n\t}\n\treturn true\n}\n",
			beagle.Equal, ""},
		{"never stops", "package place\n\nimport \"strings\"\n\nfunc Each(s string, f func(string) bool) bool {\n" +
			"\tok := true\n\tfor w := range strings.FieldsSeq(s) {\n\t\tok = f(w) && ok\n\t}\n\treturn ok\n}\n",
			beagle.Wrong, "trace"},
	})
}

func TestContextOver(t *testing.T) {
	judgeAll(t, map[string]string{"c.go": `package place

import "context"

func Sum(ctx context.Context, xs []int) (int, error) {
	s := 0
	for _, x := range xs {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		s += x
	}
	return s, nil
}
`, "c_test.go": `package place

import (
	"context"
	"testing"
)

func TestSum(t *testing.T) {
	if s, err := Sum(context.Background(), []int{1, 2, 3}); s != 6 || err != nil {
		t.Fatal(s, err)
	}
}
`}, "./.Sum", beagle.ByTape, []planted{
		{"honest", sum(`	for _, x := range xs {
		if err = ctx.Err(); err != nil {
			return s, err
		}
		s += x
	}
	return s, nil
`), beagle.Equal, ""},
		{"looks at the end", sum(`	for _, x := range xs {
		s += x
	}
	if len(xs) == 0 {
		return 0, nil
	}
	return s, ctx.Err()
`), beagle.Wrong, "result"},
	})
}

func sum(body string) string {
	return "package place\n\nimport \"context\"\n\n" +
		"func Sum(ctx context.Context, xs []int) (s int, err error) {\n" + body + "}\n"
}
