package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A liftSample counts the pieces of code that could be a term of the standard
// library, those for which a term is proposed, and the terms that still hold on
// many fresh inputs. It takes files as they are: all functions of one are studied
// together.
type liftSample struct {
	recall
	files int    // to study
	fresh int    // inputs of the check
	seed  uint64 // of the draw
	simd  bool   // offer the functions of other modules too
	box   *sandbox.Sandbox

	studied, unbuilt int
	loops            int // outermost, of all functions of the files
	kinds            map[string]*tally
	lines            []string // a line for each proposal
	spent            time.Duration
}

// A tally counts the outcomes of the regions of one kind.
type tally struct{ cut, ran, proposed, held int }

func (l *liftSample) flags(f *flag.FlagSet) {
	f.StringVar(&l.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&l.dir, "dir", "", "keep downloads' go.mod files here; the default is a scratch directory")
	f.IntVar(&l.per, "per", 3, "packages of a module, drawn by the seed; of each one file is drawn")
	f.IntVar(&l.files, "files", 200, "files to study")
	f.IntVar(&l.fresh, "fresh", 20000, "inputs on which proposals are checked")
	f.Uint64Var(&l.seed, "seed", 16, "seed of the draw")
	f.BoolVar(&l.simd, "with-simd", false, "offer the functions of Beagle's module simd too, and list their matches")
}

// run studies files of modules in an order drawn by the seed, and prints the report.
func (l *liftSample) run(ctx context.Context) error {
	// Prepare a sandbox and a directory.
	var err error
	if l.box, err = sandbox.New(sandbox.Options{}); err != nil {
		return err
	}
	list, err := readModules(filepath.Join(l.root, "bench", "strangers", "modules.txt"))
	if err != nil {
		return err
	}
	if l.dir == "" {
		if l.dir, err = os.MkdirTemp("", "field"); err != nil {
			return err
		}
		defer os.RemoveAll(l.dir)
	}
	// Study modules in an order that the seed decides.
	l.kinds = map[string]*tally{}
	draw := rand.New(rand.NewPCG(l.seed, 1))
	draw.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, m := range list {
		if l.studied >= l.files || ctx.Err() != nil {
			break
		}
		if err := l.liftModule(ctx, m, draw); err != nil {
			l.failed = append(l.failed, fmt.Sprintf("%s: %v", m.path, err))
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d files, %d functions, %d proposals ", l.studied, l.files,
			l.functions, len(l.lines))
	}
	fmt.Fprintln(os.Stderr)
	return l.report(os.Stdout)
}

// liftModule studies some files of a module, each of another package.
func (l *liftSample) liftModule(ctx context.Context, m module, draw *rand.Rand) error {
	// Find the module.
	conf, err := l.place(ctx, m)
	if err != nil {
		return err
	}
	if len(conf.BuildFlags) == 0 {
		return errors.New("it has no go.mod")
	}
	// Copy its sources.
	copied, err := os.MkdirTemp(l.dir, "module")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if err := copySources(conf.Dir, copied); err != nil {
		return err
	}
	conf.Dir = copied
	// Study a file of each of some packages.
	loaded, err := loadSome(conf, m.path+"/...", draw, l.per)
	if err != nil || len(loaded) == 0 {
		return err
	}
	l.modules++
	for _, p := range loaded {
		if len(p.Errors) > 0 || p.TypesInfo == nil || len(p.Syntax) == 0 || len(p.OtherFiles) > 0 {
			continue
		}
		if err := l.liftFile(ctx, conf, p, p.Syntax[draw.IntN(len(p.Syntax))]); err != nil {
			return err
		}
	}
	return nil
}

// copySources copies the files of a module that its packages may need: the go command does not add
// files to a package in its module cache.
func copySources(from, to string) error {
	const largest = 1 << 20
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > largest {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}

// liftFile studies the functions of a file.
func (l *liftSample) liftFile(ctx context.Context, conf *packages.Config, p *packages.Package, f *ast.File) error {
	// Read the file. Leave out one that a tool has changed.
	src, err := os.ReadFile(p.Fset.Position(f.FileStart).Filename)
	if err != nil || len(src) != int(f.FileEnd-f.FileStart) {
		return nil
	}
	pass := &mutate.Pass{Src: src, Fset: p.Fset, File: f, Pkg: p.Types, Info: p.TypesInfo}
	// Count the functions and their loops.
	functions := 0
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || generic(p.TypesInfo, fn) {
			continue
		}
		functions++
		l.loops += outermost(fn.Body)
		if pass.Func == nil {
			pass.Func = fn
		}
	}
	if pass.Func == nil {
		return nil
	}
	l.packages, l.functions = l.packages+1, l.functions+functions
	// Cut regions.
	o := lift.Options{Seed: l.seed, Regions: 400, Total: functions * liftTerms}
	if l.simd {
		o.Packages = lift.ModulePackages()
	}
	s := lift.NewStudy(mutate.InPlace(pass), o)
	l.studied++
	for _, r := range s.Regions() {
		l.tally(r.Kind).cut++
	}
	if len(s.Regions()) == 0 {
		return nil
	}
	// Build and run the program that records their values.
	dir, err := os.MkdirTemp(l.dir, "lift")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, why := l.build(ctx, dir, conf, p, s)
	if why == "" {
		why = l.execute(ctx, program, s)
	}
	if why != "" {
		l.unbuilt++
		l.failed = append(l.failed, p.PkgPath+": "+why)
		return ctx.Err()
	}
	// Look for terms.
	start := rt.ProcessCPU()
	rep := s.Find()
	l.spent += rt.ProcessCPU() - start
	for _, a := range rep.Answers {
		if a.Why != "it did not run" {
			l.tally(a.Kind).ran++
		}
	}
	if len(rep.Matches) == 0 {
		return nil
	}
	for _, f := range rep.Matches {
		if slices.ContainsFunc(f.Imports, func(path string) bool { return slices.Contains(o.Packages, path) }) {
			l.lines = append(l.lines, fmt.Sprintf("simd %s %s.%s: %s", f.Kind, p.PkgPath, f.Func, f.Term))
		}
	}
	return l.retry(ctx, program, p.PkgPath, s, rep.Matches)
}

// retry runs the matches of a study on fresh inputs, and counts the terms that still hold.
func (l *liftSample) retry(ctx context.Context, program, pkg string, s *lift.Study, matches []lift.Match) error {
	s.Redraw(l.seed+1<<40, l.fresh)
	if why := l.execute(ctx, program, s); why != "" {
		return fmt.Errorf("%s: the second time: %s", pkg, why)
	}
	// Count the terms that still hold.
	held, regions := s.HeldRegions()
	for i, r := range regions {
		t := l.tally(r.Kind)
		t.proposed++
		mark := "no "
		if held[i] {
			t.held++
			mark = "yes"
		}
		k := slices.IndexFunc(matches, func(f lift.Match) bool { return f.Func == r.Func && f.Kind == r.Kind })
		term := matches[max(k, 0)].Term
		l.lines = append(l.lines, fmt.Sprintf("%s %s %s.%s: %s", mark, r.Kind, pkg, r.Func, term))
	}
	return nil
}

// liftTerms bounds the terms that are tried for each function of a file.
const liftTerms = 500_000

func (l *liftSample) tally(kind string) *tally {
	if l.kinds[kind] == nil {
		l.kinds[kind] = &tally{}
	}
	return l.kinds[kind]
}

// outermost counts the loops that lie in no other loop.
func outermost(body ast.Node) (n int) {
	ast.Inspect(body, func(k ast.Node) bool {
		switch k.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			n++
			return false
		}
		return true
	})
	return n
}

var lineOf = regexp.MustCompile(`beagle_lift\.go:(\d+):`)

// build builds the regions of a study with the go command, which runs none of the code. It returns
// the program, or the reason for having none.
func (l *liftSample) build(
	ctx context.Context, dir string, conf *packages.Config, p *packages.Package, s *lift.Study,
) (program, why string) {
	// Write a program beside the package that runs the regions.
	pkg := filepath.Dir(p.GoFiles[0])
	file, main, list := filepath.Join(dir, "lift.go"), filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	start := "package main\n\nimport target " + strconv.Quote(p.PkgPath) + "\n\nfunc main() { target." +
		lift.Entry + "() }\n"
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(pkg, "beagle_lift.go"):                file,
		filepath.Join(pkg, "internal", "lifted", "main.go"): main,
	}})
	err = cmp.Or(err, os.WriteFile(main, []byte(start), 0o644), os.WriteFile(list, replace, 0o644))
	// Build it. Leave out regions that do not compile, and try again.
	for range 4 {
		if err = cmp.Or(err, os.WriteFile(file, []byte(s.Program(p.Name)), 0o644)); err != nil {
			return "", err.Error()
		}
		args := append([]string{"build", "-overlay=" + list, "-pgo=off", "-gcflags=-e", "-ldflags=-s -w", "-o",
			filepath.Join(dir, "program")}, conf.BuildFlags...)
		build := exec.CommandContext(ctx, "go", append(args, p.PkgPath+"/internal/lifted")...)
		build.Dir, build.Env = conf.Dir, conf.Env
		out, err := build.CombinedOutput()
		if err == nil {
			return filepath.Join(dir, "program"), ""
		}
		var lines []int
		for _, m := range lineOf.FindAllStringSubmatch(string(out), -1) {
			n, _ := strconv.Atoi(m[1])
			lines = append(lines, n)
		}
		if !s.Drop(lines) {
			return "", "it does not build: " + firstLine(string(out))
		}
	}
	return "", "it does not build, whatever is left out"
}

// firstLine returns the first line of the go command's output that is not the name of a package,
// which [tail.First] would return.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "#") {
			return strings.TrimSpace(line)
		}
	}
	return s
}

// execute runs the regions in a sandbox. It returns the reason if that failed.
func (l *liftSample) execute(ctx context.Context, program string, s *lift.Study) string {
	const most = 512 << 20
	r, err := l.box.Run(ctx, sandbox.Command{Profile: sandbox.Run, Path: program, Stdin: s.Request(),
		Limits: sandbox.Limits{CPU: 20 * time.Second, Wall: 3 * time.Minute, Output: most, File: most}})
	if err != nil {
		return err.Error()
	}
	s.Read(r.Stdout)
	return ""
}

// report prints the table and the proposals.
func (l *liftSample) report(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "piece\tcandidates\tran\tproposed\theld on fresh inputs\t")
	var sum tally
	for _, kind := range []string{"function", "loop", "rest", "expression"} {
		k := l.tally(kind)
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", kind, k.cut, k.ran, k.proposed, k.held)
		sum.cut, sum.ran, sum.proposed, sum.held = sum.cut+k.cut, sum.ran+k.ran, sum.proposed+k.proposed,
			sum.held+k.held
	}
	fmt.Fprintf(t, "all\t%d\t%d\t%d\t%d\t\n", sum.cut, sum.ran, sum.proposed, sum.held)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w,
		"\n%d functions with %d outermost loops in %d files of %d modules, seed %d; %v of processor time to search\n",
		l.functions, l.loops, l.studied, l.modules, l.seed, l.spent.Round(100*time.Millisecond))
	fmt.Fprintf(w, "%d fresh inputs a proposal; %d files did not build with their pieces beside them\n\n",
		l.fresh, l.unbuilt)
	for _, line := range l.lines {
		fmt.Fprintln(w, line)
	}
	for _, f := range l.failed {
		fmt.Fprintln(w, "left out:", f)
	}
	return nil
}
