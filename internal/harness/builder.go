package harness

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// Where generated packages stand below the target's package. They exist only
// in temporary directories and overlays.
const (
	rtDir   = "/internal/beaglert"
	mainDir = "/internal/beaglemain"
)

// A Variant is a version to build.
type Variant struct{ ID, Source string }

// Versions returns the original of a target, as the first, and candidates.
func Versions(of *beagle.Target, cs ...beagle.Candidate) []Variant {
	out := []Variant{{ID: "original", Source: of.Source}}
	for _, c := range cs {
		out = append(out, Variant{ID: c.ID, Source: c.Source})
	}
	return out
}

// A Link says how a program is built and laid out.
type Link struct {
	FuncAlign int    // alignment of functions; 0 is the linker's own
	Layout    uint64 // seed of the order of functions; 0 is the linker's own order
	PGO       string // profile, absolute; "" for none
	// compile the target's package alone with it: a profile of the harness says little of others,
	// and recompiling all of them takes long
	PGOLocal bool
	Race     bool
}

// A Builder builds programs around versions of one target. It may be used
// from several goroutines.
type Builder struct {
	u      *source.Unit
	target *beagle.Target
	box    *sandbox.Sandbox
	dir    string
	tools  *toolchain
	files  []string          // of the package, as the compiler gets them
	copies map[string]string // of files of a package main, by path
	frame  *frame
	viaGo  string // why every build goes through the go command; "" when none must

	read []string // directories that the toolchain may read

	original *source.File

	machine  string // GOARCH; "" for the toolchain's own
	emulator string // of the machine

	elseMu        sync.Mutex
	otherMachines map[string]otherMachine // by GOARCH

	mu     sync.Mutex
	worlds map[string]*world // by PGO profile, "off" for none
	count  int
}

// A world is everything that is compiled once: the packages around the
// target, and rt against them.
type world struct {
	mu      sync.Mutex
	profile string
	dir     string
	pkgs    map[string]*listed
	rt      string // archive
	rtKey   string // hash of its inputs
	main    []byte // archive of the main package as the first batch compiled it
	config  string // of the compiler, for as many packages as listed says
	listed  int
}

// likely are packages that rewrites import. Asking for them at once saves a
// go command later.
var likely = []string{
	"bytes", "cmp", "encoding/binary", "encoding/hex", "errors", "fmt", "hash/maphash", "io", "iter", "maps",
	"math", "math/bits",
	"reflect", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "time", "unicode", "unicode/utf8",
}

// NewBuilder asks the go command for the target's surroundings and compiles
// rt. dir is the builder's own; the caller removes it.
func NewBuilder(ctx context.Context, u *source.Unit, box *sandbox.Sandbox, dir string) (*Builder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	b := &Builder{u: u, target: &u.Target, box: box, dir: dir, worlds: map[string]*world{}}
	if b.tools, err = findToolchain(ctx, u.Target.PkgDir); err != nil {
		return nil, err
	}
	b.tools.GOFLAGS = u.Requirement.GOFLAGS(b.tools.GOFLAGS)
	original, problem := u.Reader.Parse(u.Target.Source)
	if problem != nil {
		return nil, fmt.Errorf("the original as a candidate: line %d: %s", problem.Line, problem.Message)
	}
	b.original = original
	if b.frame, err = newFrame(u, original, u.Target.PkgPath+rtDir); err != nil {
		return nil, err
	}
	if err := b.writeFiles(); err != nil {
		return nil, err
	}
	_, err = b.world(ctx, "off")
	return b, err
}

// writeFiles puts copies of a package main under another name into the
// builder's directory; any other package is compiled from the user's files.
func (b *Builder) writeFiles() error {
	b.files, b.copies = b.u.Package.Files(), map[string]string{}
	for path, text := range b.u.Package.BuildFiles() {
		file := filepath.Join(b.dir, "package", filepath.Base(path))
		if err := write(file, []byte(text)); err != nil {
			return err
		}
		if i := slices.Index(b.files, path); i >= 0 {
			b.files[i], b.copies[path] = file, file
		}
	}
	return nil
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// world gives the surroundings for a profile, made when first asked for.
func (b *Builder) world(ctx context.Context, profile string) (*world, error) {
	b.mu.Lock()
	w := b.worlds[profile]
	if w == nil {
		w = &world{profile: profile, dir: filepath.Join(b.dir, "world"+strconv.Itoa(len(b.worlds)))}
		b.worlds[profile] = w
	}
	b.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pkgs != nil {
		return w, nil
	}
	return w, b.fill(ctx, w)
}

// fill lists the packages of a world. The one without a profile also decides whether the compiler
// can be called directly.
func (b *Builder) fill(ctx context.Context, w *world) error {
	_, imports, err := b.tools.rt()
	if err != nil {
		return err
	}
	pkgs, err := b.list(ctx, w.profile, slices.Concat([]string{b.target.PkgPath}, imports, likely))
	if err != nil {
		return err
	}
	if w.profile == "off" {
		b.read = b.readable(pkgs)
		b.viaGo = pkgs[b.target.PkgPath].needsGoBuild()
		if b.viaGo == "" && foreignCgo(pkgs) {
			b.viaGo = "a dependency with cgo"
		}
	}
	if b.viaGo == "" {
		if w.rt, w.rtKey, err = b.archiveRT(ctx, w.dir, pkgs); err != nil {
			return err
		}
	}
	w.pkgs = pkgs
	return nil
}

// list prefers a build without cgo, which gives static programs and needs no
// C compiler, if the package is the same without.
func (b *Builder) list(ctx context.Context, profile string, patterns []string) (map[string]*listed, error) {
	pkgs, err := b.tools.packages(ctx, b.target, profile, patterns)
	if b.machine != "" || b.tools.cgo || err == nil && len(pkgs[b.target.PkgPath].GoFiles) == len(b.files) {
		return pkgs, err
	}
	b.tools.cgo = true
	pkgs, err = b.tools.packages(ctx, b.target, profile, patterns)
	if err != nil {
		return nil, err
	}
	return pkgs, nil
}

// foreignCgo reports whether the external linker is needed.
func foreignCgo(pkgs map[string]*listed) bool {
	for _, p := range pkgs {
		if !p.Standard && len(p.CgoFiles) > 0 {
			return true
		}
	}
	return false
}

// need makes packages that a version imports available. It leaves out packages that cannot be
// imported; the compiler reports them.
func (b *Builder) need(ctx context.Context, w *world, imports []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	missing := slices.DeleteFunc(slices.Clone(imports), func(p string) bool {
		return p == "C" || p == "unsafe" || w.pkgs[p] != nil || w.pkgs[w.pkgs[b.target.PkgPath].ImportMap[p]] != nil
	})
	for _, p := range missing {
		found, err := b.tools.packages(ctx, b.target, w.profile, []string{p})
		if err != nil || found[b.target.PkgPath] != nil { // an import cycle
			w.pkgs[p] = &listed{ImportPath: p}
			continue
		}
		for path, l := range found {
			if w.pkgs[path] == nil {
				w.pkgs[path] = l
			}
		}
	}
}

// compileConfig writes the compiler's list of imports, when it changed.
func (b *Builder) compileConfig(w *world) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed == len(w.pkgs) {
		return w.config, nil
	}
	config := filepath.Join(w.dir, fmt.Sprintf("compile%d.cfg", len(w.pkgs)))
	text := string(importConfig(w.pkgs, b.target.PkgPath, nil)) + shimConfig(b.target.PkgPath, w.rt)
	if err := write(config, []byte(text)); err != nil {
		return "", err
	}
	w.config, w.listed = config, len(w.pkgs)
	return config, nil
}

// compileArgs returns the compiler's flags as the go command sets them, except that no debug
// information is made.
func (b *Builder) compileArgs(out, path, lang, config, trim string) []string {
	args := []string{
		"-o", out, "-p", path, "-lang=" + lang, "-complete", "-pack", "-nolocalimports", "-dwarf=false", "-buildid=",
		"-trimpath", trim + "=>beagle", "-importcfg", config, "-e",
	}
	if b.tools.pie() {
		args = append(args, "-shared")
	}
	return args
}

// lang returns the module's language version.
func (b *Builder) lang() string {
	if v := version.Lang("go" + b.target.Go); v != "" {
		return v
	}
	return version.Lang(b.tools.GOVERSION)
}

// toolLimits bound a compiler or a linker that a candidate sends round in
// circles. It is its processor time that tells: with a profile the standard
// library is compiled anew, which on a busy machine takes minutes.
var toolLimits = sandbox.Limits{Wall: 5 * time.Minute, CPU: 3 * time.Minute, Data: 6 << 30}

// roomier is [source.Roomy] for a compiler or a linker that runs alone: it collects nothing before
// it needs gigabytes, which saves another eighth.
var roomier = []string{"GOGC=off", "GOMEMLIMIT=2GiB"}

func (b *Builder) tool(ctx context.Context, name string, args ...string) (sandbox.Result, error) {
	return b.sandboxed(ctx, sandbox.Command{
		Path: b.tools.tool(name), Args: args, Dir: b.dir, Env: roomier, Write: []string{b.dir},
	})
}

// goBuild runs the go command in the target's package.
func (b *Builder) goBuild(ctx context.Context, env []string, args ...string) (sandbox.Result, error) {
	env = append(env, source.Roomy...)
	return b.sandboxed(ctx, sandbox.Command{
		Path: b.tools.goCommand(), Args: args, Dir: b.target.PkgDir, Env: env, Write: []string{b.dir, b.tools.GOCACHE},
	})
}

// sandboxed runs a program of the toolchain in the sandbox. It adds what each such program needs.
func (b *Builder) sandboxed(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c.Profile, c.Limits = sandbox.Build, toolLimits
	c.Env, c.Read = append(b.tools.env(), c.Env...), append(c.Read, b.read...)
	r, err := b.box.Run(ctx, c)
	if err == nil && r.Ended == sandbox.Canceled {
		err = ctx.Err()
	}
	return r, err
}

// readable returns the directories that the toolchain reads: its own, the caches, and the modules
// on disk.
func (b *Builder) readable(pkgs map[string]*listed) []string {
	dirs := []string{b.tools.GOROOT, b.tools.GOCACHE, b.tools.GOMODCACHE, b.target.Dir, b.target.PkgDir}
	dirs = append(dirs, b.u.RequirementDirs()...)
	if b.tools.GOWORK != "" && b.tools.GOWORK != "off" {
		dirs = append(dirs, filepath.Dir(b.tools.GOWORK))
	}
	for _, p := range pkgs {
		if p.Module != nil && p.Module.Dir != "" && !strings.HasPrefix(p.Module.Dir, b.tools.GOMODCACHE) {
			dirs = append(dirs, p.Module.Dir)
		}
	}
	inorder.Sort(dirs)
	return slices.Compact(dirs)
}

// outputOf returns a program's output, or how it ended.
func outputOf(r sandbox.Result) string {
	s := strings.TrimSpace(string(r.Stdout) + string(r.Stderr))
	if s == "" || r.Ended != sandbox.Exited {
		s = strings.TrimSpace(fmt.Sprintf("%s (ended by: %s, status %d)", s, r.Ended, r.Code))
	}
	return s
}

// ErrOriginal says that the user's own code did not build.
var ErrOriginal = errors.New("the original does not build in the harness")
