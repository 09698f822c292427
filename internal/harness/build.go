package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// A Binary is a harness program. Indexes are those of the versions that were
// given to Build: a version that failed has an empty place in the program.
type Binary struct {
	Path     string
	Variants []string // IDs by index
	Static   []beagle.StaticFacts
	Failed   map[int]string // why a version is not in the program
	Link     Link

	Prepare  time.Duration // parsing, renaming, writing
	Compile  time.Duration // the compiler
	LinkTime time.Duration // the linker
	Inspect  time.Duration // reading the compiler's account and the machine code

	machine  string // GOARCH; "" for the toolchain's own
	emulator string

	terms  *rt.Terms // the target's contract, for requests that name no other
	dir    string    // of the batch
	config string    // of the linker
	main   string    // archive of the main package
	goArgs []string  // how the go command was called, for programs that it built
}

// Remove deletes the program and its parts, and so the files that Relink needs.
func (bin *Binary) Remove() error { return os.RemoveAll(bin.dir) }

// Build compiles and links versions into one program. vs[0] is the original.
func (b *Builder) Build(ctx context.Context, vs []Variant, o Link) (*Binary, error) {
	return b.BuildWith(ctx, vs, nil, o)
}

// BuildWith is Build for a program that can evaluate more predicates than the
// target's contract: see [rt.Terms]. Theirs are the places from [Builder.OwnPredicates] on.
func (b *Builder) BuildWith(ctx context.Context, vs []Variant, more []*source.Predicate, o Link) (*Binary, error) {
	start := time.Now()
	t, err := b.newBatch(vs)
	if err != nil {
		return nil, err
	}
	t.predicates = append(b.predicates(), more...)
	if err := t.writeVariants(); err != nil {
		return nil, err
	}
	bin := &Binary{machine: b.machine, emulator: b.emulator, Variants: t.ids, Failed: t.failed, Link: o, dir: t.dir,
		terms: b.Terms(), Path: filepath.Join(t.dir, "harness"), Prepare: time.Since(start)}
	if b.viaGo != "" || o.Race {
		err = t.viaGo(ctx, bin)
	} else {
		err = t.direct(ctx, bin)
	}
	if err != nil {
		return nil, err
	}
	return bin, nil
}

func profileOf(o Link) string {
	if o.PGO == "" || o.PGOLocal {
		return "off"
	}
	return o.PGO
}

// direct calls the compiler and the linker.
func (t *batch) direct(ctx context.Context, bin *Binary) error {
	b := t.b
	w, err := b.world(ctx, profileOf(bin.Link))
	if err != nil {
		return err
	}
	b.need(ctx, w, t.imports())
	start := time.Now()
	config, err := b.compileConfig(w)
	if err != nil {
		return err
	}
	// Compile the package with all versions. Those that the compiler refuses are dropped, and the
	// rest is compiled again.
	archive, notes := filepath.Join(t.dir, "target.a"), filepath.Join(t.dir, "account")
	args := b.compileArgs(archive, b.target.PkgPath, b.lang(), config, t.dir)
	args = append(args, "-json=0,"+notes)
	if bin.Link.PGO != "" {
		profile, err := t.profile(ctx, bin.Link.PGO)
		if err != nil {
			return err
		}
		args = append(args, "-pgoprofile="+profile)
	}
	args = append(args, t.ownFiles()...)
	err = t.settle(ctx, func(in []int) (string, error) {
		files, err := t.writeShim(in)
		if err != nil {
			return "", err
		}
		return refusal(b.tool(ctx, "compile", append(args[:len(args):len(args)], files...)...))
	})
	if err != nil {
		return err
	}
	// Compile the main package, or take it from the cache.
	object, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	if err := t.makeMain(ctx, w, bin, archive, object); err != nil {
		return err
	}
	bin.Compile = time.Since(start)
	// Link, and read facts off the object file at the same time.
	linked := make(chan error, 1)
	go func() { linked <- b.link(ctx, bin) }()
	err = t.inspect(bin, object, notes)
	if lerr := <-linked; lerr != nil {
		return lerr
	}
	return err
}

// refusal returns the output of a tool that failed; "" if it succeeded.
func refusal(r sandbox.Result, err error) (string, error) {
	if err != nil || r.OK() {
		return "", err
	}
	return outputOf(r), nil
}

// mainText returns the main package; rt is the path that rt is imported by.
func mainText(rt, pkgPath string) []byte {
	return []byte(goBuildLine + "package main\n\nimport (\n\tbeaglert " + strconv.Quote(rt) +
		"\n\ttarget " + strconv.Quote(pkgPath) +
		"\n)\n\nfunc main() { beaglert.Main(beaglert.New(target.BeagleHarness())) }\n")
}

// makeMain makes the main package and writes the linker's configuration. The
// main package instantiates rt for the target's arguments, which takes longer
// than all the rest; so it is compiled for the first batch only and retargeted
// for the others.
func (t *batch) makeMain(ctx context.Context, w *world, bin *Binary, archive string, object []byte) error {
	b := t.b
	// The linker's configuration is new for each batch.
	w.mu.Lock()
	first := w.main
	text := string(importConfig(w.pkgs, b.target.PkgPath, map[string]string{b.target.PkgPath: archive})) + rtFile(w.rt)
	w.mu.Unlock()
	bin.config, bin.main = filepath.Join(t.dir, "main.cfg"), filepath.Join(t.dir, "main.a")
	if err := write(bin.config, []byte(text)); err != nil {
		return err
	}
	// Take the main package from an earlier batch, or from the cache, and point it at this batch's
	// package.
	key := ""
	if first == nil {
		key = t.mainKey(w)
		first = readArchive(key)
	}
	if first != nil {
		if main, err := retarget(first, b.target.PkgPath, object); err == nil {
			t.setMain(w, first)
			return write(bin.main, main)
		}
	}
	// Otherwise compile it, and keep it.
	if err := t.compileMain(ctx, bin); err != nil {
		return err
	}
	main, err := os.ReadFile(bin.main)
	if err == nil {
		t.setMain(w, main)
		if key != "" {
			keep(key, main)
		}
	}
	return err
}

func (t *batch) setMain(w *world, archive []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.main = archive
}

// mainKey hashes the dependencies of the main package: rt, and the types of the arguments and
// results. Types of the language and the standard library are known by name; for others, every
// package that they may come from counts.
func (t *batch) mainKey(w *world) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := []string{w.rtKey, t.b.frame.header, string(mainText(rtPath, t.b.target.PkgPath))}
	for _, path := range t.b.frame.named {
		p := w.pkgs[path]
		if p == nil || !p.Standard || path == t.b.target.PkgPath {
			return t.surroundingsKey(w, parts)
		}
		parts = append(parts, path, p.Export)
	}
	return keyOf(parts...)
}

// surroundingsKey adds the target's package and all that it may import.
func (t *batch) surroundingsKey(w *world, parts []string) string {
	parts = append(parts, t.b.lang(), string(importConfig(w.pkgs, t.b.target.PkgPath, nil)))
	for _, path := range t.b.files {
		text, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		parts = append(parts, string(text))
	}
	return keyOf(parts...)
}

// compileMain compiles the main package against this batch's package.
func (t *batch) compileMain(ctx context.Context, bin *Binary) error {
	src := filepath.Join(t.dir, "main.go")
	if err := write(src, mainText(rtPath, t.b.target.PkgPath)); err != nil {
		return err
	}
	args := t.b.compileArgs(bin.main, "main", "go1.23", bin.config, t.dir)
	why, err := refusal(t.b.tool(ctx, "compile", append(args, src)...))
	if err == nil && why != "" {
		err = fmt.Errorf("compiling the harness's main package: %s", why)
	}
	return err
}

// inspect reads the compiler's messages and output.
func (t *batch) inspect(bin *Binary, archive []byte, notes string) error {
	start := time.Now()
	defer func() { bin.Inspect = time.Since(start) }()
	bin.Static = make([]beagle.StaticFacts, len(t.ids))
	said, err := account(notes)
	if err != nil {
		return fmt.Errorf("the compiler's account: %w", err)
	}
	o, _ := readObject(archive) // an unknown format costs the code hash, no more
	for _, i := range t.alive() {
		f := t.files[i]
		s := staticFacts(said[filepath.Base(t.variantFile(i))], f.Fset.Position(f.Func.Name.Pos()).Line)
		if o != nil {
			if hash, size, err := o.codeFacts(i, f.Func.Name.Name, f, t.srcs[i]); err == nil {
				s.CodeHash, s.CodeBytes = hash, size
			}
		}
		bin.Static[i] = s
	}
	return nil
}
