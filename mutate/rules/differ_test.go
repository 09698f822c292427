package rules_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/mutate"
)

// differed is how many cases a run compares.
const differed = 120

// differential builds one program of befores and afters, each in a package of its own. It compares
// them on generated inputs, and counts bounds checks. A run tries a quarter of the cases, drawn
// anew each time.
func differential(t *testing.T, cases []*golden) {
	dir := t.TempDir()
	var imports, table strings.Builder
	checks := map[string]*golden{} // package of an after -> its case
	before := map[string]string{}  // package of an after -> package of its before
	add := func(c *golden, src string) string {
		// An unchanged case keeps its name, and so its place in the build cache.
		name := fmt.Sprintf("p%.6x", sha256.Sum256([]byte(c.name+"\n"+targetExpr(c)+"\n"+src)))
		pkg := regexp.MustCompile(`(?m)^package \w+`).ReplaceAllString(src, "package "+name)
		put(t, filepath.Join(dir, name, "candidate.go"), pkg)
		put(t, filepath.Join(dir, name, "export.go"),
			fmt.Sprintf("package %s\n\nvar Target = %s\n", name, targetExpr(c)))
		fmt.Fprintf(&imports, "\t%q\n", "golden/"+name)
		return name
	}
	cases = slices.DeleteFunc(cases, func(c *golden) bool { return len(c.got) == 0 || c.opts["nodiff"] != "" })
	if len(cases) == 0 {
		return
	}
	for _, c := range sampletest.Of(t, cases, differed) {
		b := add(c, c.before)
		for _, name := range c.order {
			a := add(c, c.got[name])
			checks[a], before[a] = c, b
			fmt.Fprintf(&table, "\t\t%s,\n", caseLiteral(c, name, b, a))
		}
	}
	differ, err := os.ReadFile("testdata/differ/differ.go")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "go.mod"), "module golden\n\ngo 1.26\n")
	put(t, filepath.Join(dir, "differ", "differ.go"), string(differ))
	put(t, filepath.Join(dir, "main.go"),
		fmt.Sprintf("package main\n\nimport (\n\t\"golden/differ\"\n%s)\n\nfunc main() {\n"+
			"\tdiffer.Run([]differ.Case{\n%s\t})\n}\n", &imports, &table))

	out, err := goTool(dir, "build", "-trimpath", "-gcflags=golden/...=-d=ssa/check_bce", "-o", "program", ".").
		CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]int{}
	check := regexp.MustCompile(`(?m)^\S*?(p[0-9a-f]+)/candidate.go:\d+:\d+: Found Is`)
	for _, m := range check.FindAllSubmatch(out, -1) {
		found[string(m[1])]++
	}
	for a, c := range checks {
		if want := cmp.Or(c.opts["checks-"+version.Lang(runtime.Version())], c.opts["checks"]); want != "" {
			if got := fmt.Sprintf("%d -> %d", found[before[a]], found[a]); got != want {
				t.Errorf("%s: bounds checks %s, want %s", c.name, got, want)
			}
		}
	}
	if out, err := exec.Command(filepath.Join(dir, "program")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, bytes.TrimSpace(out))
	}
}

func goTool(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	return cmd
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// targetExpr returns the target as a function value; a method becomes a method expression.
func targetExpr(c *golden) string {
	f := c.pass.Func
	if f.Recv == nil {
		if args := c.opts["types"]; args != "" {
			return f.Name.Name + "[" + args + "]"
		}
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		return "(*" + c.pass.Text(star.X) + ")." + f.Name.Name
	}
	return c.pass.Text(t) + "." + f.Name.Name
}

func caseLiteral(c *golden, name, before, after string) string {
	strs, ints := constants(c.pass)
	if p, err := mutate.Check(c.got[name], c.opts["target"], c.facets); err == nil {
		s, i := constants(p)
		strs, ints = append(strs, s...), append(ints, i...)
	}
	var lo, hi int64
	fmt.Sscan(c.opts["ints"], &lo, &hi)
	maxlen, inputs := 36, 2000
	fmt.Sscan(c.opts["maxlen"], &maxlen)
	fmt.Sscan(c.opts["inputs"], &inputs)
	return fmt.Sprintf("{Name: %q, Before: %s.Target, After: %s.Target, Class: %q, Strings: %#v, Ints: %#v, Lo: %d, "+
		"Hi: %d, MaxLen: %d, Inputs: %d}",
		c.name+"/"+name, before, after, c.rule.Class, strs, ints, lo, hi, maxlen, inputs)
}
