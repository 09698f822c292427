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
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/mutants"
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
	path   string // of the candidate file

	verdict *beagle.Verdict
	cpu     time.Duration // processor time of the whole command
	err     error
}

// versions has the judge verify versions that people wrote, and prints its errors: wrong versions
// accepted, honest ones rejected.
func versions(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	set := f.String("set", "A", "a set of functions.txt (A, B), a function (A3) or a version (A3/name)")
	tool := f.String("beagle", "", "the command to measure; the default builds the one of -root")
	at := f.Int("j", 2, "versions to judge at once")
	kind := f.String("only", "", "wrong or honest")
	each := f.Bool("each", false, "judge each version in a process of its own, to measure processor time")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	list, err := readVersions(l.root, *set, *kind)
	if err != nil {
		return err
	}
	if *tool == "" {
		var err error
		if *tool, err = command.Build(ctx, l.root, l.dir); err != nil {
			return err
		}
	}
	judgeAll(ctx, l, abs(*tool), list, *at, *each)
	return reportVersions(os.Stdout, list)
}

func abs(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// readVersions reads the versions of a set. only is honest, wrong, or "" for both.
func readVersions(root, set, only string) ([]*version, error) {
	// A set is a letter, a function, or a function and a version.
	fnName, one, _ := strings.Cut(set, "/")
	functions, err := load(root, fnName)
	if err != nil {
		return nil, err
	}
	// Read the versions of each function, and choose.
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

// judgeAll gives all versions of a function to one command, so that inputs are recorded once. Each
// worker has a store of its own.
func judgeAll(ctx context.Context, l *lab, tool string, list []*version, at int, each bool) {
	var groups [][]*version
	key := func(v *version) string { return v.fn.name + " " + strings.Join(v.flags, " ") }
	for _, v := range list {
		last := len(groups) - 1
		if each || last < 0 || key(groups[last][0]) != key(v) {
			groups = append(groups, nil)
			last++
		}
		groups[last] = append(groups[last], v)
	}
	for _, v := range list { // one download at a time
		if _, err := l.module(ctx, v.fn.module, v.fn.version); err != nil {
			v.err = err
		}
	}
	work := make(chan []*version)
	var wg sync.WaitGroup
	for worker := range at {
		wg.Go(func() {
			home := filepath.Join(l.dir, "home"+strconv.Itoa(worker))
			for group := range work {
				judge(ctx, l, tool, home, group)
				for _, v := range group {
					fmt.Fprintln(os.Stderr, v.line())
				}
			}
		})
	}
	for _, g := range groups {
		work <- g
	}
	close(work)
	wg.Wait()
}

// judge asks for the verdict on behaviour. For wrong versions that pass it asks for the whole
// verdict: one that is not called faster is not accepted.
func judge(ctx context.Context, l *lab, tool, home string, group []*version) {
	// An error ends the whole group.
	fail := func(err error) {
		for _, v := range group {
			v.err = errors.Join(v.err, err)
		}
	}
	// Load the function, and write the candidate files.
	fn := group[0].fn
	dir, err := l.module(ctx, fn.module, fn.version)
	if err != nil {
		fail(err)
		return
	}
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: fn.spec, Env: []string{"GOWORK=off"}})
	if err != nil {
		fail(err)
		return
	}
	for _, v := range group {
		if err := v.write(l, u); err != nil {
			v.err = fmt.Errorf("%s: %w", v.name, err)
		}
	}
	// ask judges versions with flags. A version without a verdict gets the command's error.
	ask := func(group []*version, flags ...string) {
		if len(group) == 0 {
			return
		}
		for _, v := range group {
			v.verdict = nil
		}
		if err := runTool(ctx, tool, home, dir, flags, group); err != nil {
			for _, v := range filter(group, func(v *version) bool { return v.verdict == nil }) {
				v.err = err
			}
		}
	}
	// Judge the behaviour of all, and then the speed of wrong versions that pass.
	ok := func(v *version) bool { return v.err == nil }
	ask(filter(group, ok), "--no-measure")
	ask(filter(group, func(v *version) bool { return ok(v) && !v.honest && v.verdict.OK() }), "--measure", "4s")
}

func filter(list []*version, want func(*version) bool) (out []*version) {
	for _, v := range list {
		if want(v) {
			out = append(out, v)
		}
	}
	return out
}

// write makes the candidate file of a version.
func (v *version) write(l *lab, u *source.Unit) error {
	text, err := expand(v.text, u.Target.Source, u.Target.Name)
	if err != nil {
		return err
	}
	v.path = abs(filepath.Join(l.dir, "versions", v.name+".go"))
	if err := os.MkdirAll(filepath.Dir(v.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(v.path, []byte(text), 0o644)
}

// runTool has the command judge versions of one function.
func runTool(ctx context.Context, tool, home, dir string, flags []string, group []*version) error {
	args := slices.Concat([]string{"verify", "--json", "--quiet", "--force", "--strict", "-C", dir}, group[0].flags,
		flags, []string{group[0].fn.spec})
	for _, v := range group {
		args = append(args, v.path)
	}
	end, err := command.Call{Program: tool, Args: args, Home: abs(home), Env: []string{"GOWORK=off"}}.Run(ctx)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(end.Out)) // verdicts come in the order in which they are found
	for range group {
		one := beagle.Judgement{File: group[0].path}
		into := any(&one)
		if len(group) == 1 {
			into = &one.Verdict
		}
		if d.Decode(into) != nil || one.Verdict.Status == "" {
			break
		}
		for _, v := range group {
			if v.path == one.File {
				v.verdict = &one.Verdict
			}
		}
	}
	if slices.ContainsFunc(group, func(v *version) bool { return v.verdict == nil }) {
		return fmt.Errorf("beagle verify ended with status %d: %s", end.Status, strings.TrimSpace(end.Said))
	}
	if len(group) == 1 {
		group[0].cpu = end.Processor()
	}
	return nil
}

// passed reports whether the judge accepted a version. A wrong one counts as accepted only if the
// judge also calls it faster.
func (v *version) passed() bool {
	if v.honest {
		return v.verdict.OK()
	}
	return v.verdict.Status == beagle.Accepted
}

func (v *version) line() string {
	if v.err != nil || v.verdict == nil {
		first, _, _ := strings.Cut(fmt.Sprint(v.err), "\n")
		return fmt.Sprintf("%-40s FAILED: %s", v.name, first)
	}
	reason, _, _ := strings.Cut(v.verdict.Reason, "\n")
	return fmt.Sprintf("%-40s %-9s %-10s %5.1f s  %.160s", v.name, v.verdict.Status, v.verdict.Stage,
		v.cpu.Seconds(), reason)
}

// reportVersions writes totals, and every error of the judge with the version's first line.
func reportVersions(w io.Writer, list []*version) error {
	var failed, wrong, accepted, quiet, honest, rejected int
	stages := map[string]int{}
	var cpu []float64
	// Count the versions, and print each error of the judge.
	for _, v := range list {
		switch {
		case v.err != nil || v.verdict == nil || v.verdict.Status == beagle.Invalid:
			failed++
			fmt.Fprintf(w, "no version: %s: %s\n", v.name, v.line())
			continue
		case v.honest:
			honest++
		default:
			wrong++
		}
		if v.verdict.OK() && v.cpu > 0 {
			cpu = append(cpu, v.cpu.Seconds())
		}
		switch {
		case v.honest && !v.passed():
			rejected++
			fmt.Fprintf(w, "honest, rejected: %s (%s)\n    %s\n", v.name, v.what, v.line())
		case !v.honest && v.passed():
			accepted++
			fmt.Fprintf(w, "wrong, accepted: %s (%s)\n    %s\n", v.name, v.what, v.line())
		case !v.honest && v.verdict.OK():
			quiet++
			fmt.Fprintf(w, "wrong, not seen, but not faster: %s (%s)\n", v.name, v.what)
		case !v.honest:
			stages[v.verdict.Stage]++
		}
	}
	// Print the totals.
	fmt.Fprintf(w, "\n%d wrong versions: %d accepted (%s), %d more not seen but not called faster; rejected by %s\n",
		wrong, accepted, percent(accepted, wrong), quiet, mutants.Counts(stages))
	fmt.Fprintf(w, "%d honest versions: %d rejected (%s)\n", honest, rejected, percent(rejected, honest))
	if slices.Sort(cpu); len(cpu) > 0 {
		fmt.Fprintf(w, "processor time of a whole verification that passed, record and build included: median %.1f s, "+
			"quartiles %.1f and %.1f\n",
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

// expand makes a candidate file of a version as it is written. A version never
// repeats the original's text. It may instead hold these lines:
//
//	//original as NAME       declares the original function here, under this name
//	//edit "old" => "new"    the version is the original with this text exchanged, once
func expand(text, original, target string) (string, error) {
	// Read the lines: functions to declare, edits to make, and text.
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
				return "",
					fmt.Errorf("%s: the old text occurs %d times in the original: give one that occurs once", trimmed,
						n)
			}
			edited = strings.Replace(edited, was, is, 1)
		default:
			kept = append(kept, line)
		}
	}
	// Without an edit the text is the candidate.
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

// renamed returns the declaration of the original function under another name, which its calls of
// itself use too.
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
