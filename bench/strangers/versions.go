package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// A version is a candidate that a person wrote. Its first line says what it is:
// "// wrong: what is wrong with it" or "// honest: why it is faster".
// "// honest under --ignore error-text: ..." names the flags that it needs.
type version struct {
	fn     function
	name   string // "A3/cache-by-pointer"
	honest bool
	flags  []string
	what   string
	text   string // as written

	verdict *beagle.Verdict
	cpu     time.Duration // processor time of the whole command
	err     error
}

// versions has the judge look at versions that people wrote, and prints how it
// errs: wrong versions accepted, honest ones rejected.
func versions(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	set := f.String("set", "A", "a set of functions.txt (A, B), a function (A3) or a version (A3/name)")
	tool := f.String("beagle", "", "the command to measure; the default builds the one of -root")
	at := f.Int("j", 2, "versions to judge at once")
	only := f.String("only", "", "wrong or honest")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	list, err := readVersions(l.root, *set, *only)
	if err != nil {
		return err
	}
	if *tool == "" {
		*tool = filepath.Join(l.dir, "beagle")
		if out, err := exec.CommandContext(ctx, "go", "build", "-C", l.root, "-o", abs(*tool), "./cmd/beagle").CombinedOutput(); err != nil {
			return fmt.Errorf("build of beagle: %w\n%s", err, out)
		}
	}
	judgeAll(ctx, l, abs(*tool), list, *at)
	return reportVersions(list)
}

func abs(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

func readVersions(root, set, only string) ([]*version, error) {
	fnName, one, _ := strings.Cut(set, "/")
	functions, err := load(root, fnName)
	if err != nil {
		return nil, err
	}
	var out []*version
	for _, fn := range functions {
		if one != "" && fn.name != fnName {
			continue
		}
		ar, err := txtar.ParseFile(filepath.Join(root, "bench", "strangers", "versions", fn.name+".txtar"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, file := range ar.Files {
			v, err := parseVersion(fn, file)
			if err != nil {
				return nil, err
			}
			if (one == "" || v.name == set) && (only == "" || (only == "honest") == v.honest) {
				out = append(out, v)
			}
		}
	}
	return out, nil
}

func parseVersion(fn function, file txtar.File) (*version, error) {
	v := &version{fn: fn, name: fn.name + "/" + strings.TrimSuffix(file.Name, ".go"), text: string(file.Data)}
	head, _, _ := strings.Cut(v.text, "\n")
	kind, what, ok := strings.Cut(strings.TrimPrefix(head, "// "), ": ")
	kind, flags, _ := strings.Cut(kind, " under ")
	if !ok || kind != "wrong" && kind != "honest" {
		return nil, fmt.Errorf("%s: the first line is %q: write // wrong: WHY or // honest: WHY", v.name, head)
	}
	v.honest, v.what, v.flags = kind == "honest", what, splitFlags(flags)
	return v, nil
}

// splitFlags splits at spaces; a value in single quotes stays whole.
func splitFlags(s string) (out []string) {
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// judgeAll gives the versions to the command. Versions of one function come one
// after the other, so that its recorded inputs are found again.
func judgeAll(ctx context.Context, l *lab, tool string, list []*version, at int) {
	byFunction := map[string][]*version{}
	var order []string
	for _, v := range list {
		if byFunction[v.fn.name] == nil {
			order = append(order, v.fn.name)
		}
		byFunction[v.fn.name] = append(byFunction[v.fn.name], v)
	}
	work := make(chan []*version)
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			for group := range work {
				for _, v := range group {
					if v.err = v.judge(ctx, l, tool); v.err != nil {
						v.verdict = &beagle.Verdict{}
					}
					fmt.Fprintln(os.Stderr, v.line())
				}
			}
		})
	}
	for _, name := range order {
		dir, err := l.module(ctx, byFunction[name][0].fn.module, byFunction[name][0].fn.version)
		if err != nil || dir == "" {
			for _, v := range byFunction[name] {
				v.err, v.verdict = err, &beagle.Verdict{}
			}
			continue
		}
		work <- byFunction[name]
	}
	close(work)
	wg.Wait()
}

// judge asks for the verdict on behaviour, and of a wrong version that passes
// for the whole verdict: one that is not called faster is not accepted.
func (v *version) judge(ctx context.Context, l *lab, tool string) error {
	dir, err := l.module(ctx, v.fn.module, v.fn.version)
	if err != nil {
		return err
	}
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: v.fn.spec, Env: []string{"GOWORK=off"}})
	if err != nil {
		return err
	}
	text, err := expand(v.text, u.Target.Source, u.Target.Name)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	path := filepath.Join(l.dir, "versions", v.name+".go")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	call := func(flags ...string) error {
		args := slices.Concat([]string{"verify", "--json", "--quiet", "--force", "-C", dir}, v.flags, flags, []string{v.fn.spec, abs(path)})
		v.verdict, v.cpu, err = runTool(ctx, l, tool, args)
		return err
	}
	if err := call("--no-measure"); err != nil || !v.verdict.OK() || v.honest {
		return err
	}
	return call("--measure", "4s")
}

func runTool(ctx context.Context, l *lab, tool string, args []string) (*beagle.Verdict, time.Duration, error) {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "BEAGLE_HOME="+abs(filepath.Join(l.dir, "home")))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	v := new(beagle.Verdict)
	if json.Unmarshal(out, v) != nil || v.Status == "" {
		return nil, 0, fmt.Errorf("%v: %s", err, strings.TrimSpace(stderr.String()))
	}
	return v, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// passed reports whether the judge let a version through: a wrong one only
// counts as accepted when it also counts as faster.
func (v *version) passed() bool {
	if v.honest {
		return v.verdict.OK()
	}
	return v.verdict.Status == beagle.Accepted
}

func (v *version) line() string {
	if v.err != nil {
		return fmt.Sprintf("%-40s FAILED: %v", v.name, v.err)
	}
	reason, _, _ := strings.Cut(v.verdict.Reason, "\n")
	return fmt.Sprintf("%-40s %-9s %-10s %5.1f s  %.160s", v.name, v.verdict.Status, v.verdict.Stage, v.cpu.Seconds(), reason)
}

// reportVersions prints totals, and every error of the judge with its story.
func reportVersions(list []*version) error {
	var failed, wrong, accepted, quiet, honest, rejected int
	stages := map[string]int{}
	var cpu []float64
	for _, v := range list {
		switch {
		case v.err != nil || v.verdict.Status == beagle.Invalid:
			failed++
			fmt.Printf("no version: %s: %s\n", v.name, v.line())
			continue
		case v.honest:
			honest++
		default:
			wrong++
		}
		if v.verdict.OK() {
			cpu = append(cpu, v.cpu.Seconds())
		}
		switch {
		case v.honest && !v.passed():
			rejected++
			fmt.Printf("honest, rejected: %s (%s)\n    %s\n", v.name, v.what, v.line())
		case !v.honest && v.passed():
			accepted++
			fmt.Printf("wrong, accepted: %s (%s)\n    %s\n", v.name, v.what, v.line())
		case !v.honest && v.verdict.OK():
			quiet++
			fmt.Printf("wrong, not seen, but not faster: %s (%s)\n", v.name, v.what)
		case !v.honest:
			stages[v.verdict.Stage]++
		}
	}
	fmt.Printf("\n%d wrong versions: %d accepted (%s), %d more not seen but not called faster; rejected by %s\n",
		wrong, accepted, percent(accepted, wrong), quiet, tally(stages))
	fmt.Printf("%d honest versions: %d rejected (%s)\n", honest, rejected, percent(rejected, honest))
	if slices.Sort(cpu); len(cpu) > 0 {
		fmt.Printf("processor time of a whole verification that passed, record and build included: median %.1f s, quartiles %.1f and %.1f\n",
			cpu[len(cpu)/2], cpu[len(cpu)/4], cpu[len(cpu)*3/4])
	}
	if failed > 0 {
		return fmt.Errorf("%d versions are no versions of their function, or could not be judged", failed)
	}
	return nil
}

func percent(n, of int) string {
	return strconv.FormatFloat(100*float64(n)/float64(max(of, 1)), 'f', 1, 64) + " %"
}

func tally(m map[string]int) string {
	var parts []string
	for k, n := range m {
		parts = append(parts, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// expand makes a candidate file of a version as it is written. A version never
// repeats the original's text. It may instead hold these lines:
//
//	//original as NAME       declares the original function here, under this name
//	//edit "old" => "new"    the version is the original with this text exchanged, once
func expand(text, original, target string) (string, error) {
	var kept []string
	edited := ""
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "//original as "):
			decl, err := renamed(original, target, strings.TrimPrefix(trimmed, "//original as "))
			if err != nil {
				return "", err
			}
			kept = append(kept, decl+"\n")
		case strings.HasPrefix(trimmed, "//edit "):
			was, is, err := edit(strings.TrimPrefix(trimmed, "//edit "))
			if err != nil {
				return "", err
			}
			if edited == "" {
				edited = original
			}
			if n := strings.Count(edited, was); n != 1 {
				return "", fmt.Errorf("%s: the old text occurs %d times in the original: give one that occurs once", trimmed, n)
			}
			edited = strings.Replace(edited, was, is, 1)
		default:
			kept = append(kept, line)
		}
	}
	if edited == "" {
		edited = strings.Join(kept, "")
	}
	out, err := format.Source([]byte(edited))
	if err != nil {
		return "", err
	}
	return string(out), nil
}

func edit(s string) (was, is string, err error) {
	left, right, ok := strings.Cut(s, " => ")
	if ok {
		if was, err = strconv.Unquote(strings.TrimSpace(left)); err == nil {
			is, err = strconv.Unquote(strings.TrimSpace(right))
		}
	}
	if !ok || err != nil {
		return "", "", fmt.Errorf(`//edit %s: write //edit "old" => "new"`, s)
	}
	return was, is, nil
}

// renamed is the declaration of the original function under another name. Its
// calls of itself follow.
func renamed(original, target, name string) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "original.go", original, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != target {
			continue
		}
		fn.Doc = nil
		ast.Inspect(fn, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == target {
				id.Name = name
			}
			return true
		})
		var b bytes.Buffer
		err := format.Node(&b, fset, fn)
		return b.String(), err
	}
	return "", fmt.Errorf("the original declares no function %s", target)
}
