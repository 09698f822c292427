package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusals: each file in testdata says in its first line why it must be refused.
func TestRefusals(t *testing.T) {
	if _, err := exec.LookPath("rustc"); err != nil {
		t.Skip("rustc is not on PATH")
	}
	files, err := filepath.Glob("testdata/*.rs")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".rs"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(src), "\n")
			reason := strings.TrimPrefix(line, "//! refused: ")
			checkRefused(t, file, string(src), reason)
		})
	}
}

func checkRefused(t *testing.T, file, src, reason string) {
	arch := "amd64"
	if strings.Contains(src, "_neon") {
		arch = "arm64"
	}
	err := gen(options{rust: file, dir: packageDir(t), arch: []string{arch}}, io.Discard)
	if err != nil && strings.Contains(err.Error(), "rustup target add") {
		t.Skip(err)
	}
	if err == nil || !strings.Contains(err.Error(), "kernel bad") ||
		!strings.Contains(err.Error(), "refused: "+reason) {
		t.Errorf("got %v, want a refusal with %q", err, reason)
	}
}

// packageDir is an empty Go package for generated files.
func packageDir(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": "package p\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestListingRules tries the listing rules alone; the compiler would have to be tricked into these.
func TestListingRules(t *testing.T) {
	for _, c := range []struct{ arch, line, reason string }{
		{"arm64", " mov x28, x0", "x18/x28 use"},
		{"arm64", " add w18, w1, w2", "x18/x28 use"},
		{"arm64", " bl memcpy", "calls"},
		{"arm64", " br x9", "calls"},
		{"arm64", " str q0, [sp, #16]", "stack use on arm64"},
		{"amd64", " callq memcpy@PLT", "calls"},
		{"amd64", " andq $-32, %rsp", "aligned spills"},
		{"amd64", " vmovaps %ymm0, 32(%rsp)", "aligned spills"},
		{"amd64", " vmovdqa64 (%rsp), %zmm1", "aligned spills"},
		{"amd64", " movdqa %xmm3, -24(%rsp)", "aligned spills"},
		{"amd64", " paddb 16(%rsp), %xmm1", "aligned spills"},
	} {
		err := checkListing(&kernel{symbol: "k", list: []string{"k:", c.line}}, c.arch)
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s %q: got %v, want %q", c.arch, c.line, err, c.reason)
		}
	}
	for arch, line := range map[string]string{"amd64": " movdqu 16(%rsp), %xmm1", "arm64": " ldr x8, [x0, #8]"} {
		if err := checkListing(&kernel{symbol: "k", list: []string{line}}, arch); err != nil {
			t.Errorf("%s %q: %v", arch, line, err)
		}
	}
}

func TestDecodePush(t *testing.T) {
	pad := make([]byte, 8)
	for _, c := range []struct {
		code string
		want push
	}{
		{"\x53", push{"PUSHQ BX", 1, 8}}, {"\x55", push{"PUSHQ BP", 1, 8}}, {"\x41\x57", push{"PUSHQ R15", 2, 8}},
		{"\x48\x83\xec\x48", push{"ADJSP $72", 4, 72}}, {"\x48\x81\xec\x00\x02\x00\x00", push{"ADJSP $512", 7, 512}},
	} {
		if got, ok := decodePush(append([]byte(c.code), pad...)); !ok || got != c.want {
			t.Errorf("% x: got %v %v, want %v", c.code, got, ok, c.want)
		}
	}
	if p, ok := decodePush([]byte("\x48\x8b\x07\x48\x8b\x4f\x08\x00")); ok {
		t.Errorf("a load is taken for %v", p)
	}
}

// TestPrologueMustComeFirst checks that a hidden prologue, not at the start, is refused.
func TestPrologueMustComeFirst(t *testing.T) {
	k := &kernel{
		symbol: "k",
		code:   []byte{0x48, 0x8b, 0x07, 0x53, 0x5b, 0xc3, 0, 0},
		text:   6,
		list:   []string{" movq (%rdi), %rax", " pushq %rbx", " popq %rbx", " retq"},
	}
	if err := prologue(k); err == nil || !strings.Contains(err.Error(), "unknown prologue") {
		t.Errorf("got %v", err)
	}
}
