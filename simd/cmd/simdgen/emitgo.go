package main

import (
	"fmt"
	"go/format"
	"path/filepath"
	"strings"
)

// maxChunk is the most bytes one kernel call may take: a stop-the-world can
// not interrupt it, and 256 KiB take 15 microseconds or less.
const maxChunk = 256 << 10

// render makes all files of the package.
func (p *pkg) render(dir string) ([]output, error) {
	// Write the files that all architectures share.
	asm := "!purego && (" + strings.Join(p.arches, " || ") + ")"
	none := "purego || !(" + strings.Join(p.arches, " || ") + ")"
	sources := map[string]string{
		"zkernels_asm.go":    p.header(asm) + p.wrappers(),
		"zkernels_purego.go": p.header(none) + p.fallbacks(),
		"zrace.go":           p.header("race") + p.race(),
		"znorace.go": p.header("!race") +
			fmt.Sprintf("package %s\n\nimport \"unsafe\"\n\nconst raceEnabled = false\n\n"+
				"func raceRead(unsafe.Pointer, int)  {}\nfunc raceWrite(unsafe.Pointer, int) {}\n", p.name),
		"zkernels_test.go": p.header("") + p.tests(),
	}
	// Write those of each architecture. Measured thresholds stay as they are.
	for _, arch := range p.arches {
		sources["zkernels_"+arch+".go"] = p.header("!purego") + p.declarations(arch)
		name := "ztune_" + arch + ".go"
		sources[name] = p.tuneFile(readTune(filepath.Join(dir, name)))
	}
	// Format the Go files, and add the assembly.
	var out []output
	for _, name := range sortedKeys(sources) {
		data, err := format.Source([]byte(sources[name]))
		if err != nil {
			return nil, fmt.Errorf("%s: %v\n%s", name, err, sources[name])
		}
		out = append(out, output{filepath.Join(dir, name), data})
	}
	for _, arch := range p.arches {
		out = append(out, output{path: filepath.Join(dir, "zkernels_"+arch+".s"), data: p.assembly(arch)})
	}
	return out, nil
}

// natural is the signature that Go programs see: slices and scalars.
func (f *family) natural() (params, results, call string) {
	var ps, cs []string
	for _, a := range f.args {
		t := a.typ
		if a.slice {
			t = "[]" + t
		}
		ps = append(ps, a.name+" "+t)
		cs = append(cs, a.name)
	}
	return strings.Join(ps, ", "), f.results(), strings.Join(cs, ", ")
}

func (f *family) results() string {
	switch len(f.rets) {
	case 0:
		return ""
	case 1:
		return f.rets[0]
	}
	return "(" + strings.Join(f.rets, ", ") + ")"
}

// flat is the signature over pointers and lengths, with the results named as
// the assembly names them.
func (f *family) flat() string {
	slots, _ := f.layout()
	var ps, rs []string
	for _, s := range slots {
		if strings.HasPrefix(s.name, "ret") {
			rs = append(rs, s.name+" "+s.typ)
		} else {
			ps = append(ps, s.name+" "+s.typ)
		}
	}
	return "(" + strings.Join(ps, ", ") + ") (" + strings.Join(rs, ", ") + ")"
}

// flatCall passes the natural arguments on as pointers and lengths.
func (f *family) flatCall() string {
	var cs []string
	for _, a := range f.args {
		if a.slice {
			cs = append(cs, "unsafe.SliceData("+a.name+")", "len("+a.name+")")
		} else {
			cs = append(cs, a.name)
		}
	}
	return strings.Join(cs, ", ")
}

func (f *family) returns() string {
	if len(f.rets) == 0 {
		return ""
	}
	return "return "
}

// elem is the size of the elements of the first slice.
func (f *family) elem() int {
	for _, a := range f.args {
		if a.slice {
			return sizes[a.typ]
		}
	}
	return 1
}

// wrappers is the Go side wherever there is assembly.
func (p *pkg) wrappers() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"unsafe\"\n", p.name)
	if p.path != simdPath {
		fmt.Fprintf(&b, "\n\t%q\n)\n\n// tier is read by the dispatchers.\nvar tier = simd.Tier()\n", simdPath)
	} else {
		b.WriteString(")\n")
	}
	for _, f := range p.families {
		limit := "1 << 30" // what a comparison can hold; above it Go takes over
		if f.mode != "whole" {
			limit = fmt.Sprint(maxChunk / f.elem())
		}
		fmt.Fprintf(&b, "\nconst %sMax = %s\n\n//go:noescape\nfunc %sPtr%s\n", f.name, limit, f.name, f.flat())
		wrapper(&b, f)
		slow(&b, f)
	}
	return b.String()
}

// wrapper is small enough to be inlined, so a call costs one call.
func wrapper(b *strings.Builder, f *family) {
	params, results, _ := f.natural()
	fmt.Fprintf(b, "\nfunc %s(%s) %s {\n", f.name, params, results)
	if f.mode == "map" {
		equalLengths(b, f)
	}
	b.WriteString("if raceEnabled {\n")
	for _, a := range f.args {
		if a.slice {
			hook := "raceRead"
			if a.write {
				hook = "raceWrite"
			}
			fmt.Fprintf(b, "%s(unsafe.Pointer(unsafe.SliceData(%s)), %d*len(%s))\n", hook, a.name, sizes[a.typ], a.name)
		}
	}
	fmt.Fprintf(b, "}\n%s%sPtr(%s)\n}\n", f.returns(), f.name, f.flatCall())
	if bytesOnly(f) {
		stringForm(b, f)
	}
}

// bytesOnly reports whether a string can take the place of the only slice.
func bytesOnly(f *family) bool {
	n := 0
	for _, a := range f.args {
		if a.slice {
			n++
			if a.write || a.typ != "uint8" {
				return false
			}
		}
	}
	return n == 1
}

// stringForm needs no race hook: strings are not written.
func stringForm(b *strings.Builder, f *family) {
	params, results, _ := f.natural()
	call := strings.ReplaceAll(f.flatCall(), "SliceData", "StringData")
	fmt.Fprintf(b, "\nfunc %sString(%s) %s {\n%s%sPtr(%s)\n}\n", f.name,
		strings.Replace(params, "[]uint8", "string", 1), results, f.returns(), f.name, call)
}

func equalLengths(b *strings.Builder, f *family) {
	first := ""
	for _, a := range f.args {
		if !a.slice {
			continue
		}
		if first == "" {
			first = a.name
			continue
		}
		fmt.Fprintf(b, "if len(%s) != len(%s) { panic(\"%s: %s and %s differ in length\") }\n", a.name, first, f.name,
			first, a.name)
	}
}

// slow takes what the dispatcher declines: it cuts long inputs into chunks and
// gives the rest to Go.
func slow(b *strings.Builder, f *family) {
	slots, _ := f.layout()
	n := firstLen(slots).name
	fmt.Fprintf(b, "\nfunc %sSlow%s {\n", f.name, f.flat())
	if f.mode == "whole" {
		fmt.Fprintf(b, "%s%sGo(%s)\n}\n", f.returns(), f.name, f.unflat())
		return
	}
	fmt.Fprintf(b, "if tier < %sTier || %s < %sMin {\n%s%sGo(%s)\n", f.name, n, f.name, f.returns(), f.name, f.unflat())
	if f.returns() == "" {
		b.WriteString("return\n")
	}
	b.WriteString("}\n")
	fmt.Fprintf(b, "for chunkAt := 0; chunkAt < %s; chunkAt += %sMax {\nchunkLen := min(%s-chunkAt, %sMax)\n", n,
		f.name, n, f.name)
	call := f.name + "Ptr(" + f.chunkCall() + ")"
	switch f.mode {
	case "first":
		fmt.Fprintf(b, "if hit := %s; hit < chunkLen { return chunkAt + hit }\n}\nreturn %s\n}\n", call, n)
	case "sum":
		fmt.Fprintf(b, "ret += %s\n}\nreturn ret\n}\n", call)
	case "carry":
		fmt.Fprintf(b, "%s = %s\n}\nreturn %s\n}\n", slots[0].name, call, slots[0].name)
	case "map":
		fmt.Fprintf(b, "%s\n}\n}\n", call)
	}
}

// unflat makes slices of pointers and lengths again.
func (f *family) unflat() string {
	var cs []string
	for _, a := range f.args {
		if a.slice {
			cs = append(cs, fmt.Sprintf("unsafe.Slice(%s, %sLen)", a.name, a.name))
		} else {
			cs = append(cs, a.name)
		}
	}
	return strings.Join(cs, ", ")
}

// chunkCall advances every slice to the current chunk.
func (f *family) chunkCall() string {
	var cs []string
	for _, a := range f.args {
		if a.slice {
			cs = append(cs,
				fmt.Sprintf("(*%s)(unsafe.Add(unsafe.Pointer(%s), chunkAt*%d))", a.typ, a.name, sizes[a.typ]),
				"chunkLen")
		} else {
			cs = append(cs, a.name)
		}
	}
	return strings.Join(cs, ", ")
}

// fallbacks is the package without assembly.
func (p *pkg) fallbacks() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", p.name)
	needUnsafe := false
	var funcs strings.Builder
	for _, f := range p.families {
		params, results, call := f.natural()
		fmt.Fprintf(&funcs, "\nfunc %s(%s) %s {\n", f.name, params, results)
		if f.mode == "map" {
			equalLengths(&funcs, f)
		}
		fmt.Fprintf(&funcs, "%s%sGo(%s) }\n", f.returns(), f.name, call)
		if bytesOnly(f) {
			needUnsafe = true
			s := f.sliceName()
			fmt.Fprintf(&funcs, "\nfunc %sString(%s) %s { %s%sGo(%s) }\n", f.name,
				strings.Replace(params, "[]uint8", "string", 1), results, f.returns(), f.name,
				strings.Replace(call, s, "unsafe.Slice(unsafe.StringData("+s+"), len("+s+"))", 1))
		}
	}
	if needUnsafe {
		b.WriteString("\nimport \"unsafe\"\n")
	}
	if p.path != simdPath {
		fmt.Fprintf(&b, "\nimport %q\n\nvar tier = simd.Tier()\n", simdPath)
	}
	return b.String() + funcs.String()
}

func (f *family) sliceName() string {
	for _, a := range f.args {
		if a.slice {
			return a.name
		}
	}
	return ""
}

// declarations are the single kernels, for tests and for measurements.
func (p *pkg) declarations(arch string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", p.name)
	for _, f := range p.families {
		lowest := 255 // no kernel on this architecture: always Go
		for i, k := range f.tiers[arch] {
			if i == 0 {
				lowest = k.tier.level
			}
			fmt.Fprintf(&b, "\n//go:noescape\nfunc %s%s%s\n", f.name, k.tier.ident, f.flat())
		}
		fmt.Fprintf(&b, "\n// %sTier is the lowest tier with a kernel.\nconst %sTier = %d\n", f.name, f.name, lowest)
	}
	return b.String()
}

// race gives the kernels' reads and writes to the race detector, which cannot see into assembly.
func (p *pkg) race() string {
	return fmt.Sprintf(`package %s

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

func raceRead(p unsafe.Pointer, n int) {
	if n > 0 {
		runtime.RaceReadRange(p, n)
	}
}

func raceWrite(p unsafe.Pointer, n int) {
	if n > 0 {
		runtime.RaceWriteRange(p, n)
	}
}
`, p.name)
}

// tuneLines are the constants of one kernel. The second is there for the
// assembler, whose only condition is whether a name is defined.
func tuneLines(name string, least int) string {
	s := fmt.Sprintf("\t%sMin = %d\n", name, least)
	if least > 0 {
		s += fmt.Sprintf("\t%sCut = 1\n", name)
	}
	return s
}

// tuneFile holds the break-even sizes of one architecture.
func (p *pkg) tuneFile(mins map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"// Code generated by simdgen tune; DO NOT EDIT.\n\npackage %s\n\n"+
			"// Break-even sizes, in elements: below them Go is faster.\nconst (\n", p.name)
	for _, f := range p.families {
		b.WriteString(tuneLines(f.name, mins[f.name]))
	}
	b.WriteString(")\n")
	return b.String()
}
