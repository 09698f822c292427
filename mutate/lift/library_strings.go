package lift

import (
	"bytes"
	"strings"
	"unicode"
)

func init() {
	stringTests()
	stringCuts()
	stringChanges()
	stringLists()
	bytesFunctions()
}

// stringTests registers the functions that ask something of a text. A search for an empty separator
// has a meaning of its own, and is left out of Count.
func stringTests() {
	f1("len($1)", func(s string) int { return len(s) }, glue)
	f2("strings.Contains", strings.Contains)
	f2("strings.ContainsAny", strings.ContainsAny)
	f2("strings.ContainsRune", strings.ContainsRune)
	p2("strings.Count", func(s, sep string) bool { return sep != "" }, func(s, sep string) int {
		return strings.Count(s, sep)
	})
	f2("strings.EqualFold", strings.EqualFold, commutes)
	f2("strings.HasPrefix", strings.HasPrefix)
	f2("strings.HasSuffix", strings.HasSuffix)
	f2("strings.Compare", strings.Compare)
	f2("strings.Index", strings.Index)
	f2("strings.IndexAny", strings.IndexAny)
	f2("strings.IndexByte", strings.IndexByte, atPrice(3))
	f2("strings.IndexRune", strings.IndexRune)
	f2("strings.LastIndex", strings.LastIndex)
	f2("strings.LastIndexAny", strings.LastIndexAny)
	f2("strings.LastIndexByte", strings.LastIndexByte, atPrice(3))
	f1("strings.IndexFunc($1, unicode.IsSpace)", func(s string) int { return strings.IndexFunc(s, unicode.IsSpace) })
	f1("strings.IndexFunc($1, unicode.IsUpper)", func(s string) int { return strings.IndexFunc(s, unicode.IsUpper) })
	f1("strings.IndexFunc($1, unicode.IsDigit)", func(s string) int { return strings.IndexFunc(s, unicode.IsDigit) })
	f1("strings.IndexFunc($1, unicode.IsLetter)", func(s string) int { return strings.IndexFunc(s, unicode.IsLetter) })
}

// stringCuts registers the functions that return a part of a text. A function with several results
// has a component for each: result(1, 3) is the first of three.
func stringCuts() {
	f1("strings.TrimSpace", strings.TrimSpace)
	f2("strings.Trim", strings.Trim)
	f2("strings.TrimLeft", strings.TrimLeft)
	f2("strings.TrimRight", strings.TrimRight)
	f2("strings.TrimPrefix", strings.TrimPrefix)
	f2("strings.TrimSuffix", strings.TrimSuffix)
	f2("strings.Cut", func(s, sep string) string { before, _, _ := strings.Cut(s, sep); return before }, result(1, 3))
	f2("strings.Cut", func(s, sep string) string { _, after, _ := strings.Cut(s, sep); return after }, result(2, 3))
	f2("strings.Cut", func(s, sep string) bool { _, _, found := strings.Cut(s, sep); return found }, result(3, 3))
	f2("strings.CutPrefix", func(s, p string) string {
		after, _ := strings.CutPrefix(s, p)
		return after
	}, result(1, 2))
	f2("strings.CutPrefix", func(s, p string) bool { _, found := strings.CutPrefix(s, p); return found }, result(2, 2))
	f2("strings.CutSuffix", func(s, p string) string {
		before, _ := strings.CutSuffix(s, p)
		return before
	}, result(1, 2))
	f2("strings.CutSuffix", func(s, p string) bool { _, found := strings.CutSuffix(s, p); return found }, result(2, 2))
	f1("strings.TrimLeftFunc($1, unicode.IsSpace)", func(s string) string {
		return strings.TrimLeftFunc(s, unicode.IsSpace)
	})
	f1("strings.TrimRightFunc($1, unicode.IsSpace)", func(s string) string {
		return strings.TrimRightFunc(s, unicode.IsSpace)
	})
	// Cuts by index are defined where they do not panic.
	p2("$1[:$2]", within[string], func(s string, n int) string { return s[:n] }, glue)
	p2("$1[$2:]", within[string], func(s string, n int) string { return s[n:] }, glue)
	p3("$1[$2:$3]", func(s string, from, to int) bool {
		return 0 <= from && from <= to && to <= len(s)
	}, func(s string, from, to int) string { return s[from:to] }, glue)
	p2("$1[$2]", func(s string, n int) bool { return 0 <= n && n < len(s) }, func(s string, n int) byte {
		return s[n]
	}, glue)
}

// stringChanges registers the functions that make another text. maxSize bounds what an absurd term
// can allocate.
func stringChanges() {
	f1("strings.ToLower", strings.ToLower)
	f1("strings.ToUpper", strings.ToUpper)
	f2("strings.ToValidUTF8", strings.ToValidUTF8)
	p3("strings.ReplaceAll", func(s, from, to string) bool {
		return len(to) <= 1 || (len(s)+1)*len(to) <= maxSize
	}, func(s, from, to string) string {
		return strings.ReplaceAll(s, from, to)
	})
	f3("strings.Replace($1, $2, $3, 1)", func(s, from, to string) string {
		return strings.Replace(s, from, to, 1)
	})
	p2("strings.Repeat", func(s string, n int) bool {
		return n >= 0 && n <= maxSize && n*len(s) <= maxSize
	}, func(s string, n int) string {
		return strings.Repeat(s, n)
	})
	p2("$1 + $2", func(a, b string) bool { return len(a)+len(b) <= maxSize }, func(a, b string) string {
		return a + b
	}, glue)
}

// stringLists registers the functions between texts, lists of texts, bytes and runes.
func stringLists() {
	p2("strings.Split", func(s, sep string) bool { return sep != "" }, func(s, sep string) []string {
		return strings.Split(s, sep)
	})
	p2("strings.SplitAfter", func(s, sep string) bool { return sep != "" }, func(s, sep string) []string {
		return strings.SplitAfter(s, sep)
	})
	f1("strings.Fields", strings.Fields)
	p2("strings.Join", func(list []string, sep string) bool {
		return sumOf(list)+len(list)*len(sep) <= maxSize
	}, func(list []string, sep string) string {
		return strings.Join(list, sep)
	})
	f1(`[]rune($1)`, func(s string) []rune { return []rune(s) }, glue)
	f1(`[]byte($1)`, func(s string) []byte { return []byte(s) }, glue)
	f1(`string($1)`, func(s []byte) string { return string(s) }, glue)
	f1(`string($1)`, func(s []rune) string { return string(s) }, glue)
	f1(`string($1)`, func(r rune) string { return string(r) }, glue)
}

// bytesFunctions registers the same for bytes.
func bytesFunctions() {
	// Questions about bytes.
	f2("bytes.Contains", bytes.Contains)
	p2("bytes.Count", func(s, sep []byte) bool { return len(sep) > 0 }, func(s, sep []byte) int {
		return bytes.Count(s, sep)
	})
	f2("bytes.Equal", bytes.Equal, commutes)
	f2("bytes.EqualFold", bytes.EqualFold, commutes)
	f2("bytes.Compare", bytes.Compare)
	f2("bytes.HasPrefix", bytes.HasPrefix)
	f2("bytes.HasSuffix", bytes.HasSuffix)
	f2("bytes.Index", bytes.Index)
	f2("bytes.IndexByte", bytes.IndexByte, atPrice(3))
	f2("bytes.IndexAny", bytes.IndexAny)
	f2("bytes.IndexRune", bytes.IndexRune)
	f2("bytes.LastIndex", bytes.LastIndex)
	f2("bytes.LastIndexByte", bytes.LastIndexByte)
	// Parts of the same memory.
	f1("bytes.TrimSpace", bytes.TrimSpace)
	f2("bytes.Trim", bytes.Trim)
	f2("bytes.TrimLeft", bytes.TrimLeft)
	f2("bytes.TrimRight", bytes.TrimRight)
	f2("bytes.TrimPrefix", bytes.TrimPrefix)
	f2("bytes.TrimSuffix", bytes.TrimSuffix)
	f2("bytes.Cut", func(s, sep []byte) []byte { before, _, _ := bytes.Cut(s, sep); return before }, result(1, 3))
	f2("bytes.Cut", func(s, sep []byte) []byte { _, after, _ := bytes.Cut(s, sep); return after }, result(2, 3))
	f2("bytes.Cut", func(s, sep []byte) bool { _, _, found := bytes.Cut(s, sep); return found }, result(3, 3))
	// New memory, as far as its size is bounded.
	f1("bytes.ToLower", bytes.ToLower)
	f1("bytes.ToUpper", bytes.ToUpper)
	p3("bytes.ReplaceAll", func(s, from, to []byte) bool {
		return len(to) <= 1 || (len(s)+1)*len(to) <= maxSize
	}, func(s, from, to []byte) []byte {
		return bytes.ReplaceAll(s, from, to)
	})
	p2("bytes.Repeat", func(s []byte, n int) bool {
		return n >= 0 && n <= maxSize && n*len(s) <= maxSize
	}, func(s []byte, n int) []byte {
		return bytes.Repeat(s, n)
	})
}
