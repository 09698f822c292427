package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// rtPath is the import path of rt in programs that the compiler and the linker make directly. It
// does not lie below the target's module, so one archive serves every target; the compiler maps the
// shim's import to it.
const rtPath = "beagle.invalid/rt"

// archiveRT compiles the part of rt that a harness needs, or takes it from the cache. The archive
// goes to dir; key is the hash of its inputs.
func (b *Builder) archiveRT(ctx context.Context, dir string, pkgs map[string]*listed) (archive, key string, err error) {
	names, imports, err := b.tools.rt()
	if err != nil {
		return "", "", err
	}
	// The key covers every input of the compiler: files, flags, imports and the toolchain.
	config, source := rtConfig(pkgs, imports), rt.Judging.Files()
	flags := b.compileArgs("", rtPath, "go1.23", "", "") // main packages have them too, and this key in theirs
	key = rtPrefix() +
		keyOf(b.tools.GOVERSION, strings.Join(b.tools.machine(), " "), strings.Join(flags, " "), string(config))
	archive = filepath.Join(dir, "rt.a")
	defer oneAtATime(key)()
	if text := readArchive(key); text != nil {
		return archive, key, write(archive, text)
	}
	// Compile it, and keep the archive for other builders.
	args := b.compileArgs(archive, rtPath, "go1.23", filepath.Join(dir, "rt.cfg"), dir)
	if err := write(filepath.Join(dir, "rt.cfg"), config); err != nil {
		return "", "", err
	}
	for _, name := range names {
		file := filepath.Join(dir, "rt", name)
		if err := write(file, []byte(source[name])); err != nil {
			return "", "", err
		}
		args = append(args, file)
	}
	r, err := b.tool(ctx, "compile", args...)
	if err != nil {
		return "", "", err
	}
	if !r.OK() {
		return "", "", fmt.Errorf("compiling the harness runtime: %s", outputOf(r))
	}
	text, err := os.ReadFile(archive)
	if err == nil {
		keep(key, text)
	}
	return archive, key, err
}

// rtPrefix begins the keys of all archives that this Beagle's rt makes.
var rtPrefix = sync.OnceValue(func() string {
	var parts []string
	source := rt.Judging.Files()
	for _, name := range inorder.Keys(source) {
		parts = append(parts, name, source[name])
	}
	return "rt-" + keyOf(parts...) + "-"
})

var archiving sync.Map // key -> *sync.Mutex

// oneAtATime makes later callers for an archive wait for the first one instead of compiling it
// too. The caller calls the returned function when it is done.
func oneAtATime(key string) func() {
	m, _ := archiving.LoadOrStore(key, new(sync.Mutex))
	m.(*sync.Mutex).Lock()
	return m.(*sync.Mutex).Unlock
}

// Ahead begins to compile rt while nothing is known but the directory that the
// go command runs in, if no archive of this Beagle's rt is kept: a user's first
// run would wait for it otherwise. It asks for the sandbox when it knows what to compile. scratch
// is for its files. The caller calls stop before it removes them. A failure is that of NewBuilder,
// which meets it again.
func Ahead(
	ctx context.Context, box func() (*sandbox.Sandbox, error), dir string, tags []string, scratch string,
) (stop func()) {
	if known, err := filepath.Glob(filepath.Join(cacheDir(), rtPrefix()+"*.a")); err != nil || len(known) > 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ahead(ctx, box, &beagle.Target{PkgDir: dir, Tags: tags}, scratch)
	}()
	return func() { cancel(); <-done }
}

// ahead compiles package rt before a builder asks for it.
func ahead(
	ctx context.Context, box func() (*sandbox.Sandbox, error), where *beagle.Target, scratch string,
) error {
	tools, err := findToolchain(ctx, where.PkgDir)
	if err != nil {
		return err
	}
	_, imports, err := tools.rt()
	if err != nil {
		return err
	}
	pkgs, err := tools.packages(ctx, where, "off", imports)
	if err != nil {
		return err
	}
	b := &Builder{target: where, dir: scratch, tools: tools, read: []string{tools.GOROOT, tools.GOCACHE}}
	if b.box, err = box(); err != nil {
		return err
	}
	_, _, err = b.archiveRT(ctx, scratch, pkgs)
	return err
}

// rtConfig names the packages that rt is compiled with and no others, so that
// it is the same for all targets.
func rtConfig(pkgs map[string]*listed, imports []string) []byte {
	own := map[string]*listed{}
	for _, path := range imports {
		if p := pkgs[path]; p != nil {
			own[path] = p
			for _, dep := range p.Deps {
				own[dep] = pkgs[dep]
			}
		}
	}
	delete(own, "unsafe") // the compiler provides it
	return importConfig(own, "", nil)
}

// shimConfig tells the compiler where the rt is that a shim of the target imports.
func shimConfig(target, archive string) string {
	return "importmap " + target + rtDir + "=" + rtPath + "\n" + rtFile(archive)
}

func rtFile(archive string) string { return "packagefile " + rtPath + "=" + archive + "\n" }

// rt names the files that a harness needs on the toolchain's platform, and their imports, as
// patterns for the go command.
func (t *toolchain) rt() (files, imports []string, err error) {
	files, imports, err = rtFor(rt.Judging, t.GOOS, t.GOARCH)
	return files, slices.DeleteFunc(imports, func(p string) bool { return p == "unsafe" }), err
}
