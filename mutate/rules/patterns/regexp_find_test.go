package patterns

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// found are patterns with an alphabet for texts that are likely to match. é and \xff are beyond
// ASCII, and broken.
var found = [][2]string{
	{`\Av?([0-9]+)\.?([0-9]+)?\.?([0-9]+)?`, "v09."},
	{`u"(\S+)"`, `u" a`},
	{`(?i)k=(hs|h)`, "kK=hs\u212a"},
	{`\[(\w+)\]`, "[]abé "},
	{`(\w+)=(\d*);`, "a=1;"},
	{`a(bc)?`, "abcx"},
	{`^(\d{2}):(\d{2})$`, "12:"},
	{`x*?y`, "xyz"},
	{`(a|b)+c`, "abc"},
	{`\x1b\[[0-9;]*m`, "\x1b[0;m"},
	{`"([^"]*)"`, "\"abé\xff"},
	{`(a)|(b)`, "abc"},
	{`([a-z]+)(?:-([a-z]+))?$`, "ab-"},
	{`^a|b`, "ab"},
	{`a$|ab`, "abc"},
	{`(?:(a)|(b))*c`, "abc"},
	{`(a*)+b`, "ab"},
	{`(a|ab)(c|bcd)`, "abcd"},
	{`\s*(.*)x`, " xa\né"},
	{`(a+)(a+)(a*)b`, "ab"},
	{`^\s*(\w+)\s*=\s*(.*?)\s*$`, "a =b\n"},
	{`^(a)?|b(c)`, "abc"},
}

// TestRegexpFind compares the functions that the rule writes with the regexp package: on all short
// texts over each pattern's alphabet, and on long random ones, where going back takes many steps.
func TestRegexpFind(t *testing.T) {
	var program, calls strings.Builder
	for k, c := range found {
		f, err := newPathFinder(c[0])
		if err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		pattern := fmt.Sprintf("re%d", k)
		w := &pathWriter{pathFinder: f, name: pattern + "Find", pattern: pattern}
		fmt.Fprintf(&program, "var %s = regexp.MustCompile(%q)\n\n%s\n\n", pattern, c[0], w.text())
		fmt.Fprintf(&calls, "check(%s, %q, func(s string) ([]int, bool, bool) {\n"+
			"m, f, p := %sFind(s, 0)\nreturn m[:], f, p\n})\n",
			pattern, c[1], pattern)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module find\n\ngo 1.22\n",
		"main.go": fmt.Sprintf(compareFinds, program.String(), calls.String())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "run", ".")
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, pattern := range []string{`\bword\b`, `(?m)^a`, `a*`, `a|`, `$`, `x*`} {
		if _, err := newPathFinder(pattern); err == nil {
			t.Errorf("%q was not refused", pattern)
		}
	}
}

const compareFinds = `package main

import (
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"slices"
)

%s

func check(re *regexp.Regexp, alphabet string, find func(string) ([]int, bool, bool)) {
	answered, matched := 0, 0
	try := func(s string) {
		m, found, plain := find(s)
		if !plain {
			return
		}
		answered++
		want := re.FindStringSubmatchIndex(s)
		if found != (want != nil) || found && !slices.Equal(m, want) {
			fmt.Printf("%%s in %%q: found %%v %%v, want %%v\n", re, s, found, m, want)
			os.Exit(1)
		}
		if found {
			matched++
		}
	}
	runes := []rune(alphabet)
	var words func(string, int)
	words = func(prefix string, n int) {
		try(prefix)
		for _, r := range runes {
			if n > 0 {
				words(prefix+string(r), n-1)
			}
		}
	}
	words("", 5)
	rng := rand.New(rand.NewSource(1))
	for range 2000 {
		b := ""
		for range rng.Intn(200) {
			b += string(runes[rng.Intn(len(runes))])
		}
		try(b)
		try(b + "\xff")
	}
	if answered < 500 || matched < 10 {
		fmt.Printf("%%s: %%d texts answered, %%d matched\n", re, answered, matched)
		os.Exit(1)
	}
}

func main() {
%s}
`
