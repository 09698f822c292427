package harness

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// programFile is the name of the file that Program adds to the target's package.
const programFile = "beagle_program.go"

// A Program is the result of building a file into the target's package.
type Program struct {
	Path   string // of the program; empty when it did not build
	Lines  []int  // of the file, that the compiler refused
	Output string // of the go command, when it did not build
}

// Program builds a program of the target's package and one more file in it, whose
// exported function entry the program calls. name tells programs of one builder
// apart. The user's checkout is not written to.
func (b *Builder) Program(ctx context.Context, name, text, entry string) (*Program, error) {
	// Place the file and a main package in the module by an overlay.
	dir := filepath.Join(b.dir, name)
	file, main, list := filepath.Join(dir, programFile), filepath.Join(dir, "main.go"),
		filepath.Join(dir, "overlay.json")
	o := overlay{
		filepath.Join(b.target.PkgDir, programFile):                            file,
		filepath.Join(b.target.PkgDir, filepath.FromSlash(mainDir), "main.go"): main,
	}
	for path, stand := range b.copies {
		o[path] = stand
	}
	start := "package main\n\nimport target " + strconv.Quote(b.target.PkgPath) + "\n\nfunc main() { target." +
		entry + "() }\n"
	if err := write(file, []byte(text)); err != nil {
		return nil, err
	}
	if err := write(main, []byte(start)); err != nil {
		return nil, err
	}
	if err := o.write(list); err != nil {
		return nil, err
	}
	// Build with the go command. Code that the compiler refuses is an answer, with its lines.
	p := &Program{Path: filepath.Join(dir, "program")}
	args := []string{"build", "-overlay=" + list, "-buildvcs=false", "-trimpath", "-pgo=off",
		"-gcflags=" + b.target.PkgPath + "=-e", "-ldflags=-s -w"}
	args = append(args, source.TagFlags(b.target.Tags)...)
	r, err := b.goBuild(ctx, nil, append(args, "-o", p.Path, b.target.PkgPath+mainDir)...)
	if err != nil || r.OK() {
		return p, err
	}
	p.Path, p.Output = "", outputOf(r)
	p.Lines = refusedLines(p.Output)
	return p, nil
}

var refusedLine = regexp.MustCompile(regexp.QuoteMeta(programFile) + `:(\d+):`)

// refusedLines returns the lines of the added file that the compiler names.
func refusedLines(output string) (lines []int) {
	for _, m := range refusedLine.FindAllStringSubmatch(output, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			lines = append(lines, n)
		}
	}
	return lines
}

// Run runs the program in a sandbox with a standard input.
func (p *Program) Run(
	ctx context.Context, box *sandbox.Sandbox, stdin []byte, limits sandbox.Limits,
) (sandbox.Result, error) {
	r, err := box.Run(ctx, sandbox.Command{Profile: sandbox.Run, Path: p.Path, Stdin: stdin, Limits: limits})
	if err == nil && r.Ended == sandbox.Canceled {
		err = context.Cause(ctx)
	}
	return r, err
}
