package harness

import (
	"context"
	"fmt"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// A batch is some versions on their way into one program. Indexes are those
// of the versions that the caller gave, whatever fails.
type batch struct {
	b      *Builder
	dir    string
	ids    []string
	srcs   []string
	files  []*source.File
	texts  []string // renamed
	failed map[int]string
	shim   *shim
	sites  []TracedSite // of a traced build
	pkg    []string     // the package's own files, where they differ from the builder's

	predicates []*source.Predicate // that the program can evaluate
}

// newBatch begins a batch: it parses and renames all versions at once. A version that fails has its
// reason in failed; the original must not fail.
func (b *Builder) newBatch(vs []Variant) (*batch, error) {
	if len(vs) == 0 {
		return nil, fmt.Errorf("a batch without the original")
	}
	b.mu.Lock()
	b.count++
	t := &batch{b: b, dir: filepath.Join(b.dir, fmt.Sprintf("batch%d", b.count)), failed: map[int]string{}}
	b.mu.Unlock()
	t.ids, t.srcs = make([]string, len(vs)), make([]string, len(vs))
	t.files, t.texts = make([]*source.File, len(vs)), make([]string, len(vs))
	problems := make([]string, len(vs))
	var wg sync.WaitGroup
	for i, v := range vs {
		t.ids[i], t.srcs[i] = v.ID, v.Source
		wg.Go(func() { problems[i] = t.prepare(i, v) })
	}
	wg.Wait()
	for i, p := range problems {
		if p != "" {
			t.failed[i] = p
		}
	}
	if t.failed[0] != "" {
		return nil, fmt.Errorf("%w: %s", ErrOriginal, t.failed[0])
	}
	return t, nil
}

// ownFiles returns the package's own files as this batch compiles them.
func (t *batch) ownFiles() []string {
	if t.pkg != nil {
		return t.pkg
	}
	return t.b.files
}

// prepare parses and renames version i; it returns the fault of a version that fails.
func (t *batch) prepare(i int, v Variant) string {
	f, problem := t.b.u.Reader.Parse(v.Source)
	if problem != nil {
		return fmt.Sprintf("line %d: %s", problem.Line, problem.Message)
	}
	if slices.Contains(importsOf(f), "C") {
		return `it imports "C"`
	}
	text, err := t.b.u.Writer.Variant(f, suffix(i))
	if err != nil {
		return err.Error()
	}
	t.files[i], t.texts[i] = f, text
	return ""
}

func importsOf(f *source.File) []string {
	var out []string
	for _, i := range f.AST.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		out = append(out, path)
	}
	return out
}

// imports lists the imports of the batch's versions.
func (t *batch) imports() []string {
	out := inorder.Keys(t.b.frame.imports)
	for _, p := range t.predicates {
		out = append(out, p.Imports()...)
	}
	for _, i := range t.alive() {
		out = append(out, importsOf(t.files[i])...)
	}
	inorder.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(p string) bool { return p == t.b.target.PkgPath+rtDir })
}

// alive returns the versions that have not failed.
func (t *batch) alive() []int {
	var in []int
	for i := range t.ids {
		if _, bad := t.failed[i]; !bad {
			in = append(in, i)
		}
	}
	return in
}

func (t *batch) variantFile(i int) string {
	return filepath.Join(t.dir, "beagle_v"+strconv.Itoa(i)+".go")
}

func (t *batch) shimFile() string { return filepath.Join(t.dir, "beagle_shim.go") }

func (t *batch) requiresFile() string { return filepath.Join(t.dir, "beagle_requires.go") }

// writeVariants writes the renamed versions.
func (t *batch) writeVariants() error {
	for _, i := range t.alive() {
		if err := write(t.variantFile(i), []byte(t.texts[i])); err != nil {
			return err
		}
	}
	return nil
}

// writeShim writes the shim for some versions and returns all files of the
// batch that belong to the target's package.
func (t *batch) writeShim(in []int) ([]string, error) {
	var files, globals []string
	for _, i := range in {
		files = append(files, t.variantFile(i))
		for _, v := range scopeVars(t.files[i]) {
			if i > 0 && source.HoldsErrors(v.Type()) && !t.knows(v.Name()) {
				continue
			}
			if g, ok := source.NewGlobal(t.b.target.PkgPath, v.Name(), v.Name()+suffix(i), v.Type()); ok {
				globals = append(globals, register(g))
			}
		}
	}
	t.shim = t.b.frame.shim(t.ids, in, globals)
	if len(t.predicates) > 0 {
		text, err := t.b.frame.requires(t.b.target, t.predicates)
		if err != nil {
			return nil, err
		}
		if err := write(t.requiresFile(), text); err != nil {
			return nil, err
		}
		files = append(files, t.requiresFile())
	}
	return append(files, t.shimFile()), write(t.shimFile(), t.shim.text)
}

// knows reports whether the package or the original declares a name. An error in
// a variable that only a candidate has is like one that is made in each call: no
// caller can name it, and its address is no behaviour.
func (t *batch) knows(name string) bool {
	return t.b.u.Package.Types.Scope().Lookup(name) != nil ||
		slices.ContainsFunc(scopeVars(t.files[0]), func(v *types.Var) bool { return v.Name() == name })
}

// A compiler builds the target's package with some versions. It returns the toolchain's message if
// it refused.
type compiler func(in []int) (refusal string, err error)

// settle compiles, dropping the versions that are refused, until the rest
// goes through.
func (t *batch) settle(ctx context.Context, compile compiler) error {
	for {
		refusal, err := compile(t.alive())
		if err != nil || refusal == "" {
			return err
		}
		blamed := t.blame(refusal)
		if blamed[0] != "" {
			return fmt.Errorf("%w:\n%s", ErrOriginal, refusal)
		}
		if len(blamed) == 0 {
			return t.tryEachAlone(ctx, compile, refusal)
		}
		for i, why := range blamed {
			t.failed[i] = why
		}
	}
}

// tryEachAlone tries every version on its own: something went wrong that names no
// place, such as an internal error of the compiler.
func (t *batch) tryEachAlone(ctx context.Context, compile compiler, all string) error {
	if refusal, err := compile([]int{0}); err != nil {
		return err
	} else if refusal != "" {
		return fmt.Errorf("%w:\n%s", ErrOriginal, refusal)
	}
	dropped := false
	for _, i := range t.alive()[1:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		refusal, err := compile([]int{0, i})
		if err != nil {
			return err
		}
		if refusal != "" {
			t.failed[i], dropped = tail.First(refusal), true
		}
	}
	if !dropped {
		return fmt.Errorf("the versions build one by one but not together:\n%s", all)
	}
	return t.settle(ctx, compile)
}

var place = regexp.MustCompile(`^[^\s:]*beagle_(v(\d+)|shim)\.go:(\d+)(?::\d+)?: (.*)`)

// blame finds out from the compiler's messages which versions it means.
func (t *batch) blame(messages string) map[int]string {
	out := map[int]string{}
	for line := range strings.Lines(messages) {
		m := place.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[3])
		i, why := t.shim.owner(n), m[4]
		if m[2] != "" {
			i, _ = strconv.Atoi(m[2])
			why = "line " + m[3] + ": " + m[4]
		}
		if i >= 0 && i < len(t.ids) && out[i] == "" {
			out[i] = strings.ReplaceAll(why, suffix(i), "")
		}
	}
	return out
}
