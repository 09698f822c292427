package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/types"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/symbol"
)

// Options names the function to load, and how to build its module.
type Options struct {
	Dir  string   // where the go command runs: the -C flag; "" is the current directory
	Spec string   // "./pkg.Func", "import/path.Func", "pkg.Type.Method", or "Func" in Dir; with [type arguments] or not
	Tags []string // build tags
	Env  []string // added to the environment of the go command

	// a condition on the inputs, and-ed with that of the target's comment; of a group conditions
	// such as "Encode: n >= 0; len(s) > 0", each for the function that it names or all that it fits
	Requires string
	Ignore   []string // differences that do not count, beside those of the comment

	// also take targets whose calls no record can hold: [Unit.Unrecordable] says why
	InPlace bool

	// Also names packages that candidates may import wherever the target's module requires theirs.
	Also []string
	// a module that the target's does not require, and candidates may import; nil for none
	Requirement *Requirement
	// let candidates also hold copies of functions of other packages of the module
	Across bool
	// also take several functions as one target: a type as "./pkg.Type", others as "./pkg.{A,B}"
	Group bool
	// the function of a group whose calls are recorded; versions are still versions of the group
	Entry string

	names []string // of a group
}

// Load resolves a function, and collects all facts about it that need no run. An error that the
// user can mend is a *beagle.UsageError.
func Load(ctx context.Context, o Options) (*Unit, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("-C %s: not a directory", dir),
			Remedy: "name a directory inside a Go module",
		}
	}
	// Find the package. The specification alone may not tell where its name ends and the
	// function's begins.
	if err := fileNamed(o.Spec); err != nil {
		return nil, err
	}
	if o.Spec, o.names, err = cutGroup(o.Spec); err != nil {
		return nil, err
	}
	pkg, name, exported, err := o.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if err := usable(pkg); err != nil {
		return nil, err
	}
	if r := o.Requirement; r != nil && !pkg.Module.Main {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("%s is in %s, whose go.mod is not this module's to change: %s cannot be added to it",
				pkg.PkgPath, pkg.Module.Path, r.Module),
			Remedy: "work in a checkout of that module",
		}
	}
	// Collect the export data of its imports. Candidates may import more of the standard library.
	x := exports.New(func(path string) (string, error) {
		if !isStd(path) {
			return "", fmt.Errorf("the package does not import %s yet", path)
		}
		return o.stdExport(ctx, path)
	})
	for path, file := range exported {
		x.Add(path, file)
	}
	packages.Visit([]*packages.Package{pkg}, nil, func(p *packages.Package) {
		if p.ExportFile != "" && p != pkg {
			x.Add(p.PkgPath, p.ExportFile)
		}
	})
	also := o.alsoExports(ctx, pkg, x)
	if r := o.Requirement; r != nil && len(also.names) == 0 {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("no package of %s %s can be imported: %v", r.Module, r.Version, also.err),
			Remedy: "add it yourself, and make `go build` work: go get " + r.Module,
		}
	}
	return newUnit(ctx, o, pkg, name, x, also)
}

// otherPackages are packages that candidates may import although the target's package does not.
type otherPackages struct {
	names    map[string]string // by path
	dirs     []string          // of their modules
	packages []*packages.Package
	err      error // why one cannot be imported
}

// alsoExports finds the export data of the packages of o.Also whose module the target's module
// requires: a candidate may import them, as any other file of the module may.
func (o *Options) alsoExports(ctx context.Context, pkg *packages.Package, x *exports.Importer) otherPackages {
	also := otherPackages{names: map[string]string{}}
	// Read what the module requires. Without a go.mod nothing more can be imported.
	if pkg.Module == nil || pkg.Module.GoMod == "" {
		return also
	}
	text, err := os.ReadFile(pkg.Module.GoMod)
	if err != nil {
		return also
	}
	m, err := modfile.ParseLax(pkg.Module.GoMod, text, nil)
	if err != nil {
		return also
	}
	// Only packages of required modules have export data that fits.
	paths := slices.DeleteFunc(slices.Clone(o.Also), func(path string) bool {
		return !slices.ContainsFunc(m.Require, func(r *modfile.Require) bool {
			return strings.HasPrefix(path+"/", r.Mod.Path+"/")
		})
	})
	if len(paths) == 0 {
		return also
	}
	found, err := packages.Load(o.config(ctx, listMode), paths...)
	also.err = err
	for _, p := range found {
		if len(p.Errors) > 0 {
			also.err = p.Errors[0]
		} else if p.ExportFile != "" && p.Module != nil {
			x.Add(p.PkgPath, p.ExportFile)
			also.names[p.PkgPath] = p.Name
			also.dirs, also.packages = append(also.dirs, p.Module.Dir), append(also.packages, p)
		}
	}
	return also
}

// isStd reports whether an import path belongs to the standard library.
func isStd(path string) bool {
	return symbol.Standard(path) && path != "C" && path != ""
}

// MayImport reports whether a candidate may import a package that is not of the standard library.
func (pkg *Package) MayImport(path string) bool { return pkg.direct[path] || pkg.also[path] }

const listMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedExportFile | packages.NeedModule | packages.NeedEmbedFiles

// Roomy has the go command, and compilers, collect less garbage: they live for a second, most of
// their memory is needed to the end, and a sixth of their time is saved. One that needs gigabytes
// collects as usual.
var Roomy = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

func (o *Options) config(ctx context.Context, mode packages.LoadMode) *packages.Config {
	c := &packages.Config{Context: ctx, Mode: mode, Dir: o.Dir}
	// Beagle works offline: it reports a missing module and never downloads one.
	c.Env = slices.Concat(os.Environ(), Roomy, o.Env, []string{"GOPROXY=off"})
	c.BuildFlags = slices.Concat([]string{"-buildvcs=false"}, o.Requirement.Flags(), TagFlags(o.Tags))
	return c
}

// commonStd lists packages that rewrites often import. One go command returns their export data
// with the target's package, because each command is slow.
var commonStd = []string{"bytes", "cmp", "encoding/binary", "errors", "fmt", "hash/maphash", "io", "iter", "maps",
	"math", "math/bits", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "testing", "time",
	"unicode", "unicode/utf8"}

// exportsOf returns the files with the export data of packages, by path.
func exportsOf(pkgs []*packages.Package) map[string]string {
	out := map[string]string{}
	for _, p := range pkgs {
		if p.ExportFile != "" {
			out[p.PkgPath] = p.ExportFile
		}
	}
	return out
}

// loadTogether loads the package of the likeliest interpretation together with commonStd. It
// returns nil if the package does not exist. With several interpretations, the package must also
// declare the function.
func (o *Options) loadTogether(ctx context.Context, rs []interpretation) (*packages.Package, map[string]string) {
	if len(rs) == 0 {
		return nil, nil
	}
	// One call of the go command for both: starting it costs most of the time.
	pkgs, err := packages.Load(o.config(ctx, listMode), append([]string{rs[0].pattern}, commonStd...)...)
	if err != nil {
		return nil, nil // oneByOne meets the same error and reports it
	}
	var own, std []*packages.Package
	for _, p := range pkgs {
		if slices.Contains(commonStd, p.PkgPath) {
			std = append(std, p)
		} else {
			own = append(own, p)
		}
	}
	// With two readings of the specification, a package alone does not decide.
	if len(own) != 1 || !exists(own[0]) || len(rs) > 1 && !declares(own[0], rs[0].name) {
		return nil, nil
	}
	return own[0], exportsOf(std)
}

// stdExport finds the export data of a standard package.
func (o *Options) stdExport(ctx context.Context, path string) (string, error) {
	pkgs, err := packages.Load(o.config(context.WithoutCancel(ctx),
		packages.NeedName|packages.NeedExportFile|packages.NeedModule), path)
	if err != nil {
		return "", err
	}
	if len(pkgs) != 1 || pkgs[0].ExportFile == "" || pkgs[0].Module != nil || len(pkgs[0].Errors) > 0 {
		return "", fmt.Errorf("%s is not a package of the standard library", path)
	}
	return pkgs[0].ExportFile, nil
}

// resolve finds the package that the specification names, and the export data of commonStd.
func (o *Options) resolve(ctx context.Context) (*packages.Package, string, map[string]string, error) {
	rs := interpretations(o.Dir, o.Spec)
	// Most often the first reading is right.
	if pkg, exported := o.loadTogether(ctx, rs); pkg != nil {
		return pkg, rs[0].name, exported, nil
	}
	pkg, name, err := o.loadEach(ctx, rs)
	if err != nil {
		return nil, "", nil, err
	}
	pkgs, err := packages.Load(o.config(ctx, packages.NeedName|packages.NeedExportFile), commonStd...)
	if err != nil { // stdExport then loads each when a candidate needs it
		return pkg, name, nil, ctx.Err()
	}
	return pkg, name, exportsOf(pkgs), nil
}

// loadEach loads the package of the first interpretation that names one. Its error sums up why all
// of them failed.
func (o *Options) loadEach(ctx context.Context, rs []interpretation) (*packages.Package, string, error) {
	var trouble error
	said := "" // the go command's first message, if there is no better one
	for _, r := range rs {
		pkgs, err := packages.Load(o.config(ctx, listMode), r.pattern)
		if err != nil {
			if ctx.Err() != nil {
				return nil, "", ctx.Err()
			}
			trouble = errors.Join(trouble, goCommandError(o, err.Error()))
			said = cmp.Or(said, err.Error())
			continue
		}
		if len(pkgs) == 0 {
			msg := o.complaint(ctx, r.pattern)
			trouble = errors.Join(trouble, goCommandError(o, msg))
			said = cmp.Or(said, msg)
			continue
		}
		if len(pkgs) != 1 || !exists(pkgs[0]) {
			trouble = errors.Join(trouble, notFoundMessage(o, pkgs))
			if len(pkgs) == 1 && len(pkgs[0].Errors) > 0 {
				said = cmp.Or(said, pkgs[0].Errors[0].Msg)
			}
			continue
		}
		if other := pkgs[0]; len(rs) > 1 && r != rs[len(rs)-1] && !declares(other, r.name) {
			// Perhaps a later interpretation fits. If none does, the error is about this one.
			if p, name, err := o.firstDeclaring(ctx, rs, r); err == nil {
				return p, name, nil
			}
		}
		return pkgs[0], r.name, nil
	}
	var usage *beagle.UsageError
	if errors.As(trouble, &usage) {
		return nil, "", usage
	}
	return nil, "", unknownPackage(o.Dir, o.Spec, said)
}

// complaint returns the go command's message when it fails as a whole; go/packages drops it.
func (o *Options) complaint(ctx context.Context, pattern string) string {
	conf := o.config(ctx, 0)
	c := exec.CommandContext(ctx, "go", append(append([]string{"list", "-find"}, conf.BuildFlags...), "--", pattern)...)
	c.Dir, c.Env = conf.Dir, conf.Env
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := c.Run(); err == nil {
		return ""
	}
	return strings.TrimSpace(stderr.String())
}

// firstDeclaring returns the package of the first interpretation after r whose files declare the
// function.
func (o *Options) firstDeclaring(
	ctx context.Context, rs []interpretation, r interpretation,
) (*packages.Package, string, error) {
	for _, r := range rs[slices.Index(rs, r)+1:] {
		pkgs, err := packages.Load(o.config(ctx, listMode), r.pattern)
		if err == nil && len(pkgs) == 1 && exists(pkgs[0]) && declares(pkgs[0], r.name) {
			return pkgs[0], r.name, nil
		}
	}
	return nil, "", os.ErrNotExist
}

// declares reports whether the package's files seem to declare the function:
// a cheap look at the text, because most packages need no second look.
func declares(p *packages.Package, name string) bool {
	_, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		method = name
	}
	for _, file := range p.GoFiles {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			// A method may belong to an alias or be promoted from an embedded type, so the type is
			// enough.
			if strings.HasPrefix(line, "type "+name+" ") || strings.HasPrefix(line, "type "+name+"[") {
				return true
			}
			if !strings.HasPrefix(line, "func ") {
				continue
			}
			// Methods must match methods; the receiver's type is not compared.
			if isMethod == strings.HasPrefix(line, "func (") && strings.Contains(line, " "+method) {
				return true
			}
		}
	}
	return false
}

func exists(p *packages.Package) bool {
	return len(p.GoFiles)+len(p.CompiledGoFiles)+len(p.IgnoredFiles) > 0
}

// notFoundMessage returns the go command's message about a pattern without a package, unless it
// only says that the package does not exist.
func notFoundMessage(o *Options, pkgs []*packages.Package) error {
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if err := goCommandError(o, e.Msg); err != nil {
				return err
			}
		}
	}
	return nil
}

// goCommandError explains a failure of the go command that the user can fix.
func goCommandError(o *Options, msg string) error {
	// The first line is what the user needs to see; the messages below are known by their words.
	msg = strings.TrimSpace(msg)
	first, _, _ := strings.Cut(msg, "\n")
	switch {
	case strings.Contains(msg, "GOPROXY=off") || strings.Contains(msg, "module lookup disabled") ||
		strings.Contains(msg, "missing go.sum entry") || strings.Contains(msg, "dial tcp"):
		return &beagle.UsageError{
			What: fmt.Sprintf("%s: the module needs packages that are not on this machine: %s", o.Dir,
				importAt(o.Dir, first)),
			Remedy: "run `go mod download` there once; Beagle itself never uses the network",
		}
	case strings.Contains(msg, "running go ") && strings.Contains(msg, "requires go"):
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s: %s", o.Dir, first),
			Remedy: "install that Go release, or put it first in PATH",
		}
	case strings.Contains(msg, "toolchain not available"):
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s: the module needs a Go release that is not on this machine: %s", o.Dir, msg),
			Remedy: "run `go version` there once, which fetches it; Beagle itself never uses the network",
		}
	case newerGo.MatchString(msg):
		return &beagle.UsageError{
			What: fmt.Sprintf("%s: %s", o.Dir, first),
			Remedy: fmt.Sprintf("build Beagle with that release, in its checkout: GOTOOLCHAIN=%s.0 go install "+
				"./cmd/beagle", newerGo.FindStringSubmatch(msg)[1]),
		}
	case strings.Contains(msg, "go.mod file not found") ||
		strings.Contains(msg, "outside main module or its selected dependencies") ||
		strings.Contains(msg, "does not contain main module"):
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s: not inside a Go module: %s", o.Dir, first),
			Remedy: "run in a module, or name one with -C",
		}
	case strings.Contains(msg, "updates to go.mod needed") || strings.Contains(msg, "inconsistent vendoring") ||
		strings.Contains(msg, "errors parsing ") || strings.Contains(msg, "malformed module"):
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s: the go command refuses the module: %s", o.Dir, msg),
			Remedy: "make `go build ./...` work there first",
		}
	}
	return nil
}

// newerGo matches the type checker's message about a newer language.
var newerGo = regexp.MustCompile(`requires newer Go version (go1\.\d+)`)

// place matches the start of the go command's message about an import.
var place = regexp.MustCompile(`^(\S+\.go):(\d+):\d+: `)

// importAt names the import of a message that only gives the import's place.
func importAt(dir, complaint string) string {
	m := place.FindStringSubmatch(complaint)
	if m == nil {
		return complaint
	}
	// The place may be relative to the module, to the package, or to where the go command ran.
	for _, path := range []string{m[1], filepath.Join(dir, m[1]), filepath.Join(dir, filepath.Base(m[1]))} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := strings.Split(string(text), "\n")
		// A line with one text in quotes is an import.
		if n, err := strconv.Atoi(m[2]); err == nil && n <= len(lines) && strings.Count(lines[n-1], `"`) == 2 {
			return strings.Split(lines[n-1], `"`)[1] + " (" + complaint + ")"
		}
	}
	return complaint
}

// usable refuses packages that Beagle cannot work on.
func usable(p *packages.Package) error {
	// The order is that of the causes: without a module there are no constraints to speak of.
	switch {
	case p.Module == nil && !isStd(p.PkgPath) || p.PkgPath == "command-line-arguments":
		return &beagle.UsageError{What: p.PkgPath + " is not in a module", Remedy: "run `go mod init` in its root"}
	case p.Module == nil:
		return &beagle.UsageError{
			What:   p.PkgPath + " belongs to the standard library",
			Remedy: "copy the function into a module of your own, or name a function of the module",
		}
	case len(p.CompiledGoFiles) == 0 && len(p.IgnoredFiles) > 0:
		return &beagle.UsageError{
			What: fmt.Sprintf("%s: build constraints exclude all Go files on %s/%s", p.PkgPath, runtime.GOOS,
				runtime.GOARCH),
			Remedy: "name the build tags with -tags",
		}
	}
	return compileErrors(p)
}

// compileErrors returns the first errors of the package or of its imports.
func compileErrors(p *packages.Package) error {
	var found []string
	// An import that does not compile keeps the package from compiling.
	packages.Visit([]*packages.Package{p}, nil, func(q *packages.Package) {
		for _, e := range q.Errors {
			if e.Pos != "" && e.Pos != "-" {
				found = append(found, e.Pos+": "+e.Msg)
			} else {
				found = append(found, q.PkgPath+": "+e.Msg)
			}
		}
	})
	if len(found) == 0 {
		return nil
	}
	// Some messages are of the go command and not of the code.
	if err := goCommandError(&Options{Dir: p.Dir}, strings.Join(found, "\n")); err != nil {
		return err
	}
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s does not compile: %s", p.PkgPath, strings.Join(found[:min(3, len(found))], "\n")),
		Remedy: "make `go build` work first",
	}
}

// moduleRoot returns the directory to which a patch's paths are relative.
func moduleRoot(p *packages.Package) string {
	if p.Module.Dir != "" {
		return p.Module.Dir
	}
	// A vendored package: its files live in the main module.
	for d := p.Dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil || d == filepath.Dir(d) {
			return d
		}
	}
}

// language returns the language version of the package.
func language(p *packages.Package) string {
	if v := p.Module.GoVersion; version.IsValid("go" + v) {
		return strings.TrimPrefix(version.Lang("go"+v), "go")
	}
	return "1.16" // the go command's default for a module that names no version
}

func sizes() types.Sizes {
	arch := os.Getenv("GOARCH")
	if s := types.SizesFor("gc", arch); arch != "" && s != nil {
		return s
	}
	return types.SizesFor("gc", runtime.GOARCH)
}
