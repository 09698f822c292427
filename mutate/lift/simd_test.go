package lift

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
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
	_, rep := study(t, string(src), Options{Seed: 1, Terms: 25_000, Packages: ModulePackages()})
	found, standard := map[string][]string{}, map[string][]string{}
	text := string(src)
	for _, m := range rep.Matches {
		for _, path := range importsOf(m.New[0].Text) {
			if !slices.Contains(m.Imports, path) {
				t.Errorf("%s as %s does not import %s", m.Func, m.Term, path)
			}
		}
		if !ofModules(m) {
			standard[m.Func] = append(standard[m.Func], m.Term)
			continue
		}
		found[m.Func] = append(found[m.Func], m.Term)
		text = strings.Replace(text, m.Old, m.New[0].Text, 1)
	}
	for name, want := range wanted(string(src)) {
		got := strings.Join(found[name], "\n")
		switch {
		case want == "none" && got != "":
			t.Errorf("%s is a trap, and is taken for %s", name, got)
		case want != "none" && !strings.Contains(got, want):
			t.Errorf("%s is taken for %q, want %q", name, got, want)
		}
	}
	// What the standard library has too is offered beside it: only a measurement can choose.
	for name, want := range map[string]string{"Lines": "strings.Count", "Check": "crc32.ChecksumIEEE"} {
		if !strings.Contains(strings.Join(standard[name], "\n"), want) {
			t.Errorf("%s is not offered as %s as well, only as %q", name, want, standard[name])
		}
	}
	imports := "import (\n"
	for _, path := range []string{"bytes", "slices", "strings", SimdPath, crcPath} {
		imports += strconv.Quote(path) + "\n"
	}
	compared(t, string(src), imports+")\n\n"+
		"var _, _, _, _, _ = slices.Clone[[]int], strings.ToLower, bytes.Count, simd.ASCII, crc.Update\n\n"+
		strings.TrimPrefix(text, "package main\n"))
}

// TestSimdAllowed offers functions of the packages that are allowed, and of no others.
func TestSimdAllowed(t *testing.T) {
	const src = `package main

func Plain(s []byte) bool {
	for _, c := range s {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func Check(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c)
		for range 8 {
			sum = sum>>1 ^ 0xedb88320*(sum&1)
		}
	}
	return ^sum
}
`
	for _, allowed := range [][]string{nil, {crcPath}} {
		_, rep := study(t, src, Options{Seed: 1, Terms: 25_000, Packages: allowed})
		some := false
		for _, m := range rep.Matches {
			some = some || slices.Contains(m.Imports, crcPath)
			if slices.Contains(m.Imports, SimdPath) || allowed == nil && ofModules(m) {
				t.Errorf("%s is %s where only %q are allowed", m.Func, m.Term, allowed)
			}
		}
		if some != (allowed != nil) {
			t.Errorf("with %q a function of %s is found: %v", allowed, crcPath, some)
		}
	}
}

// TestWays splits terms by the library that they need, and leaves out detours over a module.
func TestWays(t *testing.T) {
	standard, cheap := &term{price: 4}, &term{price: 4, module: true}
	detour := &term{price: 9, module: true}
	for name, c := range map[string]struct {
		right [][]*term
		want  [][][]*term
	}{
		"one of each":     {[][]*term{{cheap, standard}}, [][][]*term{{{standard}}, {{cheap}}}},
		"a module alone":  {[][]*term{{detour}}, [][][]*term{{{detour}}}},
		"a detour":        {[][]*term{{detour, standard}}, [][][]*term{{{standard}}}},
		"one of two each": {[][]*term{{detour, standard}, {cheap}}, [][][]*term{{{standard}, {cheap}}}},
		"no module":       {[][]*term{{standard}, {standard}}, [][][]*term{{{standard}, {standard}}}},
	} {
		if got := ways(c.right); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// ofModules reports whether a match imports a package of a module.
func ofModules(m Match) bool {
	return slices.ContainsFunc(m.Imports, func(path string) bool { return slices.Contains(ModulePackages(), path) })
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

// TestModuleNames keeps the list of the judge's policy in step: it names what a study may offer.
func TestModuleNames(t *testing.T) {
	policy, err := os.ReadFile("../../internal/verify/allow.go")
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.FieldsFunc(string(policy), func(r rune) bool { return strings.ContainsRune(" \t\n`)", r) })
	for _, m := range Modules {
		for _, c := range m.components {
			name, _, _ := strings.Cut(c.Name, "(")
			// The list names them by what follows the module's path.
			called := strings.TrimPrefix(c.Imports[0], m.Path) + name[strings.IndexByte(name, '.'):]
			if !slices.Contains(allowed, called) {
				t.Errorf("the policy refuses %s, which a study offers", c.Name)
			}
		}
	}
}
