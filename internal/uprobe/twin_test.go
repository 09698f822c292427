//go:build linux

package uprobe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwin: an unstripped build lends its types to a stripped one of the same source, by the flags
// of every day. One of changed source does not, also when the change keeps the length of the code.
func TestTwin(t *testing.T) {
	stripped := start(t, build(t, "-ldflags=-s -w"))
	b, err := Open(stripped.Process.Pid, build(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find("calls.Text"); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{
		{"n%2 == 0", "n%2 == 1"},
		{"func Word(", "func init() { println(len(\"one function more\")) }\n\nfunc Word("},
	} {
		if _, err := Open(stripped.Process.Pid, changed(t, change[0], change[1])); err == nil ||
			!strings.Contains(err.Error(), "another program") {
			t.Errorf("%q: %v", change[1], err)
		}
	}
}

// changed builds the service with another text in one of its packages.
func changed(t *testing.T, from, to string) (program string) {
	t.Helper()
	dir := filepath.Dir(build(t))
	all, err := filepath.Glob(filepath.Join(dir, "calls", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), from) {
			continue
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(file, b, 0o600)
		return compile(t, dir, filepath.Join(t.TempDir(), "changed"))
	}
	t.Fatalf("%q is nowhere in the service", from)
	return ""
}

// TestSameInstructions: only the distance to data may differ between two functions.
func TestSameInstructions(t *testing.T) {
	const low = 0x401000
	all := text{make([]byte, 0x1000), low}
	ret := []byte{0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3}
	for name, c := range map[string]struct {
		a, b []byte
		same bool
	}{
		"data":       {[]byte{0x48, 0x8d, 0x05, 0, 0, 0x10, 0}, []byte{0x48, 0x8d, 0x05, 8, 0, 0x10, 0}, true},
		"code":       {[]byte{0x48, 0x8d, 0x05, 0, 0, 0, 0}, []byte{0x48, 0x8d, 0x05, 8, 0, 0, 0}, false},
		"short jump": {[]byte{0x75, 2}, []byte{0x75, 3}, false},
		"long jump":  {[]byte{0x0f, 0x85, 2, 0, 0, 0}, []byte{0x0f, 0x85, 3, 0, 0, 0}, false},
		"constant":   {[]byte{0xb8, 1, 0, 0, 0}, []byte{0xb8, 2, 0, 0, 0}, false},
		"vector, data": {
			[]byte{0xc5, 0xfd, 0x6f, 0x05, 0, 0, 0x10, 0}, []byte{0xc5, 0xfd, 0x6f, 0x05, 8, 0, 0x10, 0}, true,
		},
		"vector": {[]byte{0xc5, 0xfd, 0x6f, 0x45, 0x10}, []byte{0xc5, 0xfd, 0x6f, 0x45, 0x20}, false},
	} {
		a, b := append(c.a, ret...), append(c.b, ret...)
		if got := sameInstructions(a, b, low, all); got != c.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

// TestNameStays: a process keeps its program's name in the provenance when it has ended.
func TestNameStays(t *testing.T) {
	p := start(t, build(t))
	b, err := Open(p.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Process.Kill()
	p.Wait()
	if name := b.process().Program; name != "service" {
		t.Errorf("its name is %q", name)
	}
}
