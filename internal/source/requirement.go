package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/beagle-go/beagle"
)

// A Requirement is a module that the main module does not require, and whose packages candidates
// may import all the same. Builds take a copy of go.mod that requires it; the user's stays as it is
// until a patch brings the change.
type Requirement struct {
	Module, Version string
	Modfile         string   // the copy; its go.sum lies beside it
	files           [2]*edit // go.mod and go.sum, where they change
}

// An edit is the change of one file.
type edit struct {
	name          string
	before, after string
	isNew         bool
}

// Require prepares builds of the module in o.Dir with one module more, in a version or, for "", the
// newest one that is on this machine. It writes files below dir only. It returns nil if nothing is
// missing: go.mod requires the module, or is the module's own. It downloads nothing: the module
// must be in the module cache, or go.mod must replace it.
//
// The module may require no other. So no version of a module in use changes, and all other code
// stays what it is.
func Require(ctx context.Context, o Options, module, version, dir string) (*Requirement, error) {
	r := &requiring{module: module, query: cmp.Or(version, "latest"), o: o}
	if err := r.environment(ctx); err != nil {
		return nil, err
	}
	if needless, err := r.read(); needless || err != nil {
		return nil, err
	}
	if err := r.possible(); err != nil {
		return nil, err
	}
	if err := r.find(ctx, dir); err != nil {
		return nil, err
	}
	return r.write(dir)
}

// requiring is the state of Require.
type requiring struct {
	module string
	query  string // a version
	o      Options
	env    struct{ GOMOD, GOWORK, GOMODCACHE, GOFLAGS string }
	text   string        // of go.mod
	mod    *modfile.File // parsed

	version string        // of the module
	lines   []string      // of go.sum
	its     *modfile.File // its own go.mod
}

// refuse returns an error that the user can mend.
func (r *requiring) refuse(what, remedy string) error {
	return &beagle.UsageError{What: fmt.Sprintf("%s cannot be added to go.mod: %s", r.module, what), Remedy: remedy}
}

// environment asks the go command where things are.
func (r *requiring) environment(ctx context.Context) error {
	conf := r.o.config(ctx, 0)
	c := exec.CommandContext(ctx, "go", "env", "-json", "GOMOD", "GOWORK", "GOMODCACHE", "GOFLAGS")
	c.Dir, c.Env = conf.Dir, conf.Env
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	return json.Unmarshal(out, &r.env)
}

// read reads go.mod. It reports whether nothing need be added, which is so without a go.mod, too:
// Load then says what is wrong.
func (r *requiring) read() (needless bool, err error) {
	if r.env.GOMOD == "" || r.env.GOMOD == os.DevNull {
		return true, nil
	}
	text, err := os.ReadFile(r.env.GOMOD)
	if err != nil {
		return false, err
	}
	if r.mod, err = modfile.Parse(r.env.GOMOD, text, nil); err != nil {
		return true, nil
	}
	r.text = string(text)
	own := r.mod.Module != nil && r.mod.Module.Mod.Path == r.module
	return own || slices.ContainsFunc(r.mod.Require, func(q *modfile.Require) bool {
		return q.Mod.Path == r.module
	}), nil
}

// possible refuses modules whose builds take no other go.mod.
func (r *requiring) possible() error {
	get := "go get " + r.module
	if w := r.env.GOWORK; w != "" && w != "off" {
		return r.refuse("the go command takes no other go.mod in a workspace, "+w,
			"set GOWORK=off, or add it yourself: "+get)
	}
	vendored, err := os.Stat(filepath.Join(filepath.Dir(r.env.GOMOD), "vendor", "modules.txt"))
	if err == nil && vendored.Mode().IsRegular() && !strings.Contains(r.env.GOFLAGS, "-mod=mod") {
		return r.refuse("the module's dependencies are vendored", "add it yourself: "+get+" && go mod vendor")
	}
	if strings.Contains(r.env.GOFLAGS, "-modfile") {
		return r.refuse("GOFLAGS names another go.mod already: "+r.env.GOFLAGS, "add it to that one: "+get)
	}
	return nil
}

// find finds the version and the checksums of the module.
func (r *requiring) find(ctx context.Context, dir string) error {
	path, query := r.module, r.query
	// A replacement in go.mod decides where the module comes from. Its version is then only a name.
	if i := slices.IndexFunc(r.mod.Replace, func(p *modfile.Replace) bool { return p.Old.Path == r.module }); i >= 0 {
		p := r.mod.Replace[i]
		r.version = cmp.Or(p.Old.Version, "v0.0.0-00010101000000-000000000000")
		if path, query = p.New.Path, p.New.Version; query == "" {
			from := filepath.FromSlash(path)
			if !filepath.IsAbs(from) {
				from = filepath.Join(filepath.Dir(r.env.GOMOD), from)
			}
			return r.readOwn(filepath.Join(from, "go.mod"))
		}
	}
	got, err := r.cached(ctx, dir, path+"@"+query)
	if err != nil {
		return err
	}
	r.version = cmp.Or(r.version, got.Version)
	r.lines = []string{
		path + " " + got.Version + " " + got.Sum + "\n", path + " " + got.Version + "/go.mod " + got.GoModSum + "\n",
	}
	return r.readOwn(got.GoMod)
}

// A cachedModule is the go command's account of a module.
type cachedModule struct{ Version, GoMod, Sum, GoModSum, Error string }

// cached looks a module up in the module cache, which is a proxy of files, too. The go command
// verified the cached modules when it downloaded them, so it asks no database of checksums again.
func (r *requiring) cached(ctx context.Context, dir, query string) (*cachedModule, error) {
	// Without a go.mod around, the user's requirements play no part.
	empty := filepath.Join(dir, "empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "go", "mod", "download", "-json", query)
	proxy := "file://" + filepath.ToSlash(filepath.Join(r.env.GOMODCACHE, "cache", "download"))
	c.Dir, c.Env = empty, append(r.o.config(ctx, 0).Env, "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY="+proxy,
		"GOSUMDB=off", "GONOPROXY=none")
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	failed := c.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	got := new(cachedModule)
	if err := json.Unmarshal(out.Bytes(), got); err != nil || got.Error != "" || failed != nil {
		why, _, _ := strings.Cut(cmp.Or(got.Error, strings.TrimSpace(said.String())), "\n")
		return nil, r.refuse("it is not on this machine: "+why,
			"run `go mod download "+query+"` once; Beagle itself never uses the network")
	}
	return got, nil
}

// readOwn reads the module's own go.mod. It refuses a module that would change more than the list
// of requirements.
func (r *requiring) readOwn(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return r.refuse(err.Error(), "mend the replacement in go.mod")
	}
	if r.its, err = modfile.Parse(path, text, nil); err != nil {
		return r.refuse(err.Error(), "mend the module's go.mod")
	}
	if len(r.its.Require) > 0 {
		return r.refuse("it requires other modules, and would change their versions for all code",
			"add it yourself: go get "+r.module)
	}
	// Another language version could give the user's code another meaning.
	if own, its := goVersion(r.mod), goVersion(r.its); version.Compare(version.Lang(own), version.Lang(its)) < 0 {
		return r.refuse(fmt.Sprintf("go.mod says %s, and it needs %s", own, its),
			"run `go get "+strings.Replace(its, "go", "go@", 1)+"`, test the module, and start again")
	}
	return nil
}

// goVersion returns the version of Go that a go.mod asks for, as "go1.26.0".
func goVersion(f *modfile.File) string {
	if f.Go == nil {
		return "go1.16"
	}
	return "go" + f.Go.Version
}

// write writes the copies of go.mod and go.sum that builds take.
func (r *requiring) write(dir string) (*Requirement, error) {
	if err := r.mod.AddRequire(r.module, r.version); err != nil {
		return nil, err
	}
	// go 1.26 is older than go 1.26.0, though the language is the same.
	if its := goVersion(r.its); version.Compare(goVersion(r.mod), its) < 0 {
		if err := r.mod.AddGoStmt(strings.TrimPrefix(its, "go")); err != nil {
			return nil, err
		}
	}
	r.mod.Cleanup()
	mod, err := r.mod.Format()
	if err != nil {
		return nil, err
	}
	q := &Requirement{Module: r.module, Version: r.version, Modfile: filepath.Join(dir, "go.mod")}
	q.files[0] = &edit{name: "go.mod", before: r.text, after: string(mod)}
	// The sums of a module from the cache join the others.
	old, err := os.ReadFile(filepath.Join(filepath.Dir(r.env.GOMOD), "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	sum := withLines(string(old), r.lines)
	if sum != string(old) {
		q.files[1] = &edit{name: "go.sum", before: string(old), after: sum, isNew: err != nil}
	}
	if err := os.WriteFile(q.Modfile, mod, 0o644); err != nil {
		return nil, err
	}
	return q, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum), 0o644)
}

// withLines adds lines to a text, in order, where it lacks them.
func withLines(text string, more []string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n" // else a line could follow the last one on its own line
	}
	lines := slices.Collect(strings.Lines(text))
	for _, l := range more {
		if !slices.Contains(lines, l) {
			at, _ := slices.BinarySearch(lines, l)
			lines = slices.Insert(lines, at, l)
		}
	}
	return strings.Join(lines, "")
}

// Flags returns the go command's flags for builds with the requirement; none for nil.
func (q *Requirement) Flags() []string {
	if q == nil {
		return nil
	}
	return []string{"-modfile=" + q.Modfile}
}

// GOFLAGS adds these flags to the value of that variable.
func (q *Requirement) GOFLAGS(flags string) string {
	for _, f := range q.Flags() {
		if strings.ContainsAny(f, " \t") {
			f = "'" + f + "'"
		}
		flags = strings.TrimSpace(flags + " " + f)
	}
	return flags
}

// RequirementDirs returns the directories that builds of candidates read, and builds of the
// original do not: those of modules that candidates may import, and of the copy of go.mod.
func (u *Unit) RequirementDirs() []string {
	var dirs []string
	if u.Package != nil { // a unit that was not loaded has none
		dirs = slices.Clone(u.Package.requirementDirs)
	}
	if u.Requirement != nil {
		dirs = append(dirs, filepath.Dir(u.Requirement.Modfile))
	}
	return dirs
}

// ImportsModule reports whether a candidate imports a package of a module.
func (f *File) ImportsModule(module string) bool {
	return slices.ContainsFunc(f.AST.Imports, func(s *ast.ImportSpec) bool {
		return strings.HasPrefix(strings.Trim(s.Path.Value, `"`)+"/", module+"/")
	})
}

// Patch returns go.mod and go.sum as files of a patch.
func (q *Requirement) Patch() (files []beagle.PatchFile) {
	for _, e := range q.files {
		if e == nil {
			continue
		}
		f := beagle.PatchFile{Path: e.name, After: e.after}
		if !e.isNew {
			f.Before = fileHash(e.before)
		}
		files = append(files, f)
	}
	return files
}

// originalText returns the text of a file that the requirement changes, as it was.
func (q *Requirement) originalText(path string) (string, bool) {
	if q == nil {
		return "", false
	}
	for _, e := range q.files {
		if e != nil && e.name == path {
			return e.before, true
		}
	}
	return "", false
}
