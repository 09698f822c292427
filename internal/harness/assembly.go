package harness

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// An Instruction is one line of the compiler's assembly.
type Instruction struct {
	Func string // the function whose code it is, as the version names it
	PC   int    // offset in the function; jumps name their goals by it
	Line int    // line of the version's source; 0 when it has none there
	Text string // "MOVBLZX (AX)(CX*1), DX"
}

// Assembly compiles a version once more for the compiler's assembly of its own functions. It
// returns nothing for packages that only the go command can build, and for versions that do not
// compile: their Verdict says so.
func (b *Builder) Assembly(ctx context.Context, v Variant) ([]Instruction, error) {
	if b.viaGo != "" {
		return nil, nil
	}
	t, err := b.newBatch([]Variant{{ID: "original", Source: b.target.Source}, v})
	if err != nil || t.failed[1] != "" {
		return nil, err
	}
	defer (&Binary{dir: t.dir}).Remove()
	if err := t.writeVariants(); err != nil {
		return nil, err
	}
	listing, err := t.listing(ctx)
	if err != nil {
		return nil, err
	}
	return readListing(listing, suffix(1), filepath.Base(t.variantFile(1))), nil
}

// listing returns the compiler's assembly of the package with the original and one version;
// nothing if it refuses the version.
func (t *batch) listing(ctx context.Context) ([]byte, error) {
	// Compile the package with the two versions as a batch does, with the compiler's listing on.
	b := t.b
	w, err := b.world(ctx, "off")
	if err != nil {
		return nil, err
	}
	b.need(ctx, w, t.imports())
	config, err := b.compileConfig(w)
	if err != nil {
		return nil, err
	}
	files, err := t.writeShim([]int{0, 1})
	if err != nil {
		return nil, err
	}
	// Take the listing, unless the compiler refuses the version or prints too much.
	args := append(b.compileArgs(filepath.Join(t.dir, "listed.a"), b.target.PkgPath, b.lang(), config, t.dir), "-S")
	r, err := b.tool(ctx, "compile", append(append(args, t.ownFiles()...), files...)...)
	switch {
	case err != nil:
		return nil, err
	case r.Ended == sandbox.Exited:
		if !r.OK() {
			return nil, nil
		}
		return r.Stdout, nil
	case r.Ended == sandbox.Output: // a huge package: the listing may end before the version
		return nil, nil
	}
	return nil, fmt.Errorf("the compiler's assembly: %s", outputOf(r))
}

var (
	listedFunc = regexp.MustCompile(`^(\S.*) STEXT\b`)
	listedLine = regexp.MustCompile(`^\t0x[0-9a-f]+ ([0-9]+) \(([^)]*)\)\t([A-Z][^\t]*)(?:\t(.*))?$`)
)

// readListing keeps the functions whose names have the suffix, which it takes
// off again.
func readListing(listing []byte, sfx, file string) []Instruction {
	var out []Instruction
	name := ""
	for line := range bytes.Lines(listing) {
		text := strings.TrimSuffix(string(line), "\n")
		if m := listedFunc.FindStringSubmatch(text); m != nil {
			name = ""
			if owned(m[1], sfx) && !strings.Contains(m[1], ".beagle") {
				name = plainName(m[1], sfx)
			}
			continue
		}
		if name == "" || !strings.HasPrefix(text, "\t0x") {
			continue
		}
		if i, ok := instruction(text, sfx, file); ok {
			i.Func = name
			out = append(out, i)
		}
	}
	return out
}

// instruction reads a line of the listing. It leaves out lines for the linker and the garbage
// collector.
func instruction(text, sfx, file string) (Instruction, bool) {
	m := listedLine.FindStringSubmatch(text)
	if m == nil {
		return Instruction{}, false
	}
	switch m[3] {
	case "PCDATA", "FUNCDATA", "TEXT", "NOP", "XCHGL":
		return Instruction{}, false
	}
	pc, err := strconv.Atoi(m[1])
	if err != nil {
		return Instruction{}, false
	}
	i := Instruction{PC: pc, Text: strings.TrimSpace(m[3] + " " + strings.ReplaceAll(m[4], sfx, ""))}
	if path, line, ok := strings.Cut(m[2], ":"); ok && filepath.Base(path) == file {
		i.Line, _ = strconv.Atoi(line)
	}
	return i, true
}

// plainName is "Normalize" or "(*Set).Merge" of "ex.com/tags.Normalize__b1".
func plainName(name, sfx string) string {
	name = strings.ReplaceAll(name, sfx, "")
	if i := strings.LastIndex(name, "/"); i >= 0 {
		name = name[i+1:]
	}
	_, name, _ = strings.Cut(name, ".")
	return name
}
