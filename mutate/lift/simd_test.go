package lift

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSimd finds functions of the module simd, where the user's module has it, and compares what
// comes of them with the code.
func TestSimd(t *testing.T) {
	src, err := os.ReadFile("testdata/simd.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rep := study(t, string(src), Options{Seed: 1, Simd: true})
	got := map[string]string{}
	text := string(src)
	for _, m := range rep.Matches {
		got[m.Func] = m.Term
		if slices.Contains(m.Imports, SimdPath) {
			text = strings.Replace(text, m.Old, m.New[0].Text, 1)
		}
	}
	for name, want := range wanted(string(src)) {
		switch {
		case want == "none" && strings.Contains(got[name], "simd."):
			t.Errorf("%s is a trap, and is taken for %s", name, got[name])
		case want != "none" && !strings.Contains(got[name], want):
			t.Errorf("%s is taken for %q, want %q", name, got[name], want)
		}
	}
	compared(t, string(src), "import (\n\t\"slices\"\n\t\"strings\"\n\n\t\""+SimdPath+"\"\n)\n\n"+
		"var _, _, _ = slices.Clone[[]int], strings.ToLower, simd.ASCII\n\n"+
		strings.TrimPrefix(text, "package main\n"))

	_, rep = study(t, string(src), Options{Seed: 1})
	for _, m := range rep.Matches {
		if slices.Contains(m.Imports, SimdPath) {
			t.Errorf("%s is %s in a module without it", m.Func, m.Term)
		}
	}
}

// compared runs the functions of two texts on the same inputs.
func compared(t *testing.T, before, after string) {
	t.Helper()
	dir := t.TempDir()
	module, err := filepath.Abs("../../simd")
	if err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile("testdata/simd_main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod": "module compared\n\ngo 1.26\n\nrequire " + SimdPath + " v0.0.0\n\nreplace " + SimdPath + " => " +
			module + "\n",
		"main.go":          string(main),
		"before/before.go": "package before\n" + strings.TrimPrefix(before, "package main\n"),
		"after/after.go":   "package after\n\n" + after,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command("go", "run", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, after)
	}
}

// TestSimdNames keeps the list of the judge's policy in step: it names what a study may offer.
func TestSimdNames(t *testing.T) {
	policy, err := os.ReadFile("../../internal/verify/allow.go")
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Fields(strings.ReplaceAll(string(policy), "`", " "))
	for _, c := range simdLibrary {
		if name := strings.TrimPrefix(c.Name, "simd."); !slices.Contains(allowed, name) {
			t.Errorf("the policy refuses %s, which a study offers", c.Name)
		}
	}
}
