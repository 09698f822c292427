package main

import (
	"fmt"
	"strings"
)

// tests renders one differential test and one fuzz target per kernel. The Go
// fallback is the reference.
func (p *pkg) tests() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"testing\"\n\n\t\"%s/simdtest\"\n)\n", p.name, simdPath)
	// List the kernels.
	fmt.Fprintf(&b,
		"\n// kernelTests is what simdtest runs against every tier of this machine.\n"+
			"var kernelTests = []simdtest.Kernel{\n")
	for _, f := range p.families {
		if f.testable() {
			fmt.Fprintf(&b, "\t{Name: %q, Run: run%s, Time: time%s},\n", f.name, title(f.name), title(f.name))
		}
	}
	b.WriteString("}\n\nfunc setTier(l uint8) uint8 {\n\told := tier\n\ttier = tierOf(l)\n\treturn uint8(old)\n}\n")
	// Set the tier by its number. Other packages than simd import its type.
	level := "simd.Level"
	if p.path == simdPath {
		level = "Level"
	} else {
		s := strings.Replace(b.String(), "/simdtest\"\n)", "/simdtest\"\n\t\""+simdPath+"\"\n)", 1)
		b.Reset()
		b.WriteString(s)
	}
	fmt.Fprintf(&b, "\nfunc tierOf(l uint8) %s { return %s(l) }\n", level, level)
	// Write the tests of all kernels, and then what each kernel needs.
	b.WriteString("\nfunc TestKernels(t *testing.T) { simdtest.Check(t, setTier, kernelTests) }\n")
	b.WriteString("\nfunc TestKernelsGuarded(t *testing.T) { simdtest.CheckGuarded(t, setTier, kernelTests) }\n")
	b.WriteString("\nfunc TestTuneKernels(t *testing.T) { simdtest.Tune(t, setTier, kernelTests) }\n")
	for _, f := range p.families {
		if f.testable() {
			runner(&b, f)
			timer(&b, f)
			fmt.Fprintf(&b, "\nfunc Fuzz%s(f *testing.F) { simdtest.Fuzz(f, setTier, kernelTests, %q) }\n",
				title(f.name), f.name)
		}
	}
	return b.String()
}

// testable kernels have arguments that can be drawn at random; a []string
// needs a test of its own.
func (f *family) testable() bool {
	for _, a := range f.args {
		if a.typ == "string" {
			return false
		}
	}
	return true
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// runner draws the arguments, calls kernel and fallback and compares results
// and everything written.
func runner(b *strings.Builder, f *family) {
	_, _, call := f.natural()
	fmt.Fprintf(b, "\nfunc run%s(in *simdtest.Input) {\n", title(f.name))
	// Draw the arguments. The fallback gets slices of its own to write to.
	want := call
	for _, a := range f.args {
		switch {
		case a.slice && a.write:
			fmt.Fprintf(b, "%s, %sWant := simdtest.Output[%s](in)\n", a.name, a.name, a.typ)
			want = replaceWord(want, a.name, a.name+"Want")
		case a.slice:
			fmt.Fprintf(b, "%s := simdtest.Slice[%s](in)\n", a.name, a.typ)
		default:
			fmt.Fprintf(b, "%s := simdtest.Scalar[%s](in)\n", a.name, strings.TrimPrefix(a.typ, "*"))
			if strings.HasPrefix(a.typ, "*") {
				call = replaceWord(call, a.name, "&"+a.name)
				want = replaceWord(want, a.name, "&"+a.name)
			}
		}
	}
	// Call both, and compare the results.
	if len(f.rets) == 0 {
		fmt.Fprintf(b, "%s(%s)\n%sGo(%s)\n", f.name, call, f.name, want)
	} else {
		got, ref := names("got", len(f.rets)), names("want", len(f.rets))
		fmt.Fprintf(b, "%s := %s(%s)\n%s := %sGo(%s)\n", strings.Join(got, ", "), f.name, call,
			strings.Join(ref, ", "), f.name, want)
		for i := range got {
			fmt.Fprintf(b, "simdtest.Equal(in, %s, %s)\n", got[i], ref[i])
		}
	}
	// Compare what they wrote.
	for _, a := range f.args {
		if a.write {
			fmt.Fprintf(b, "simdtest.EqualSlices(in, %s, %sWant)\n", a.name, a.name)
		}
	}
	b.WriteString("}\n")
}

// timer draws the arguments once and gives the loop to measure.
func timer(b *strings.Builder, f *family) {
	_, _, call := f.natural()
	fmt.Fprintf(b, "\nfunc time%s(in *simdtest.Input) func(int) {\n", title(f.name))
	for _, a := range f.args {
		switch {
		case a.slice && a.write:
			fmt.Fprintf(b, "%s, _ := simdtest.Output[%s](in)\n", a.name, a.typ)
		case a.slice:
			fmt.Fprintf(b, "%s := simdtest.Slice[%s](in)\n", a.name, a.typ)
		default:
			fmt.Fprintf(b, "%s := simdtest.Scalar[%s](in)\n", a.name, strings.TrimPrefix(a.typ, "*"))
			if strings.HasPrefix(a.typ, "*") {
				call = replaceWord(call, a.name, "&"+a.name)
			}
		}
	}
	fmt.Fprintf(b, "return func(k int) { for range k { %s(%s) } }\n}\n", f.name, call)
}

// names are as many variables as there are results.
func names(prefix string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

func replaceWord(list, old, new string) string {
	parts := strings.Split(list, ", ")
	for i, p := range parts {
		if p == old {
			parts[i] = new
		}
	}
	return strings.Join(parts, ", ")
}
