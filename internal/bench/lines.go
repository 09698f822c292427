package bench

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"

	linker "github.com/beagle-go/beagle/internal/symbol"
)

// base returns a symbol's name without the suffix that variants carry, and the variant's index, -1
// for none. "pkg.(*T).F__b3.func1" is "pkg.(*T).F.func1", 3.
func base(symbol string) (name string, variant int) {
	i := strings.Index(symbol, "__b")
	if i < 0 {
		return symbol, -1
	}
	end := i + len("__b")
	for end < len(symbol) && '0' <= symbol[end] && symbol[end] <= '9' {
		end++
	}
	if _, err := fmt.Sscanf(symbol[i+len("__b"):end], "%d", &variant); err != nil {
		return symbol, -1
	}
	return symbol[:i] + symbol[end:], variant
}

// A Profile says where the time of a version goes.
type Profile struct {
	Lines   map[int]float64 // share by line of the version's source
	Callees Callees
	Samples int // on these lines
}

// Callees hold, for functions outside of the version's source, the share of the version's time that
// passes with a line of the function on the stack. Functions of the target's package have the names
// of [syntax.FuncName]; those of other packages have the package's path and a dot in front. The
// standard library's are left out. Line 0 is the one with the word func. All instances of a generic
// function count together, and so do the literals and range bodies in a function, while it is on
// the stack.
type Callees map[string]map[int]float64

// ReadProfile reads a CPU profile in which version 0 ran.
func ReadProfile(data []byte) (*Profile, error) { return readProfile(data, 0) }

// FileProfile does what ReadProfile does for code that runs where the user wrote it: place gives
// the line of the source that a line of a function of the program stands for, and 0 for none.
func FileProfile(data []byte, place func(function, file string, line int) int) (*Profile, error) {
	return profileBy(data, func(l profile.Line) int {
		return place(l.Function.Name, l.Function.Filename, int(l.Line))
	})
}

// readProfile reads, from a CPU profile of a variant, the share of the time that each line of its
// source took. The shim's own functions are not the target's.
func readProfile(data []byte, variant int) (*Profile, error) {
	return profileBy(data, func(l profile.Line) int {
		if name, v := base(l.Function.Name); v == variant && !isShim(name) {
			return int(l.Line)
		}
		return 0
	})
}

// profileBy shares the time out among lines of the source, callees outside the scope included: a
// sample counts for the innermost line of the scope on its stack. place gives the line of the
// source that a frame stands for, and 0 for none.
func profileBy(data []byte, place func(profile.Line) int) (*Profile, error) {
	p, err := parseProfile(data)
	if err != nil {
		return nil, fmt.Errorf("the harness's CPU profile: %w", err)
	}
	// Each sample counts for one line of the scope, and for the callees above it.
	out := &Profile{Lines: map[int]float64{}, Callees: Callees{}}
	for _, s := range p.Sample {
		if line, pkg, above := innermost(s, place); line > 0 {
			out.Samples += int(s.Value[0])
			out.Lines[line] += float64(s.Value[0])
			out.Callees.add(above, pkg, float64(s.Value[0]))
		}
	}
	// Turn the counts into shares.
	for l := range out.Lines {
		out.Lines[l] /= float64(out.Samples)
	}
	for _, lines := range out.Callees {
		for l := range lines {
			lines[l] /= float64(out.Samples)
		}
	}
	return out, nil
}

// parseProfile reads a profile as runtime/pprof writes it. [profile.ParseData] knows the text forms
// of older profilers too, which would be in Beagle's binary without need.
func parseProfile(data []byte) (*profile.Profile, error) {
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(packed)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(raw)
	if err != nil {
		return nil, err
	}
	return p, p.CheckValid()
}

// innermost returns the line of the source for the first frame, from the leaf, that has one, the
// package of the frame's function, and the frames that this one called.
func innermost(s *profile.Sample, place func(profile.Line) int) (line int, pkg string, above []profile.Line) {
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if line := place(l); line > 0 {
				name, _ := base(l.Function.Name)
				pkg, _, _ := splitSymbol(name)
				return line, pkg, above
			}
			above = append(above, l)
		}
	}
	return 0, "", nil
}

// add counts a sample for the frames, those of a package and of others. A line that is on the stack
// twice counts once.
func (c Callees) add(frames []profile.Line, pkg string, weight float64) {
	own := firstElement(pkg)     // a module's path need not have a dot
	starts := map[string]int64{} // of the functions on the stack
	// A function literal lies inside of a function, whose start counts for it.
	for _, f := range frames {
		if in, name, inner := splitSymbol(f.Function.Name); !inner {
			starts[in+"."+name] = f.Function.StartLine
		}
	}
	type at struct {
		name string
		line int
	}
	seen := map[at]bool{}
	// Lines are counted from the start of their function, so that an edit elsewhere does not move
	// them. Packages of the library are left out.
	for _, f := range frames {
		in, name, _ := splitSymbol(f.Function.Name)
		start := starts[in+"."+name]
		if name == "" || start == 0 || firstElement(in) != own && linker.Standard(in) {
			continue
		}
		if in != pkg {
			name = in + "." + name
		}
		// Recursion puts a line on the stack twice.
		line := at{name, int(f.Line - start)}
		if seen[line] {
			continue
		}
		seen[line] = true
		if c[name] == nil {
			c[name] = map[int]float64{}
		}
		c[name][line.line] += weight
	}
}

func firstElement(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// splitSymbol splits the name of a function into its package and its name there, without type
// arguments: "a.com/b.(*T[...]).F" is "a.com/b" and "T.F". Code inside of a function, as in
// "b.F.func1" and "b.F-range1", has the function's name and is inner. Literals of package variables
// have no name.
func splitSymbol(symbol string) (pkg, name string, inner bool) {
	// The last slash ends the directories of the path, and the next dot the package.
	symbol = linker.WithoutTypeArgs(symbol)
	slash := strings.LastIndexByte(symbol, '/') + 1
	pkg, name, _ = strings.Cut(symbol[slash:], ".")
	pkg = symbol[:slash] + pkg
	// A pointer's method has its receiver in parentheses.
	method := strings.HasPrefix(name, "(*")
	if method {
		name = strings.Replace(name[len("(*"):], ")", "", 1)
	}
	// Names after the function's own are literals in it, or bodies of ranges over functions.
	parts := strings.Split(name, ".")
	known := 1 // parts that are the function's own name
	if len(parts) > 1 && (method || !literal.MatchString(parts[1])) {
		known = 2
	}
	outer, _, ranges := strings.Cut(parts[known-1], "-range")
	parts[known-1] = outer
	if outer == "" {
		return pkg, "", true
	}
	return pkg, strings.Join(parts[:known], "."), ranges || len(parts) > known
}

// literal matches the names that the compiler gives to function literals.
var literal = regexp.MustCompile(`^(func|gowrap|deferwrap)\d+(-range\d+)*$`)

func isShim(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasPrefix(last, "beagle")
}
