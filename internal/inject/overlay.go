package inject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/probe"
)

// Paths of the probe: as a module, and inside a user's module that does not import it.
const (
	module = "github.com/beagle-go/beagle/probe"
	inside = "internal/beagleprobe"
)

// A Site is a function that the build instruments.
type Site struct {
	Name    string
	Results bool     // results and panics are captured too
	Note    string   // why not, if not
	Blind   []string // parameters that a capture does not show by default
	Warning string   // optimisations that the instrumented function loses; "" for none
}

// An Overlay is the go command's overlay for an instrumented build.
type Overlay struct {
	Path  string // of its description, for -overlay
	Sites []Site
	Left  []LeftOut
	Probe string // import path of the probe in this build
}

// A LeftOut is a function that cannot be instrumented.
type LeftOut struct{ Spec, Why string }

// Write resolves the functions, and writes the overlay to dir. An error that the user can mend is a
// *beagle.UsageError.
func Write(ctx context.Context, o Options, dir string) (*Overlay, error) {
	out := &Overlay{Path: filepath.Join(dir, "overlay.json")}
	funcs, rolled, err := o.functions(ctx, &out.Left)
	if err != nil {
		return nil, err
	}
	// Take the module's own probe, or add one to the overlay.
	w := &overlayBuilder{dir: dir, replace: map[string]string{}}
	root := append(funcs, rolled...)[0].pkg.Module
	out.Probe = o.probe(ctx)
	if out.Probe == "" {
		out.Probe = path.Join(root.Path, inside)
		if err := w.addProbe(root, out.Probe); err != nil {
			return nil, err
		}
	}
	// Edit the functions, and describe each as a site.
	if err := w.edit(funcs, rolled, o.Versions, out.Probe); err != nil {
		return nil, err
	}
	costs := o.inlined(ctx, funcs)
	for _, f := range funcs {
		s := Site{Name: f.name(), Note: f.entryOnly(), Blind: f.blind()}
		s.Results = s.Note == ""
		if cost, ok := costs[f]; ok {
			s.Warning = fmt.Sprintf("the compiler inlines it (cost %d) and no longer does in this build: each call "+
				"costs about 1.3 ns more", cost)
		}
		out.Sites = append(out.Sites, s)
	}
	// Write the overlay.
	js, err := json.MarshalIndent(map[string]any{"Replace": w.replace}, "", "\t")
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(out.Path, js, 0o644)
}

// functions resolves all specifications. It refuses what cannot be instrumented, or leaves it out.
func (o *Options) functions(ctx context.Context, left *[]LeftOut) (all, rolled []*function, err error) {
	loaded := map[string]*packages.Package{}
	byName := map[string]*function{}
	// Functions to capture: all of one module, each once.
	for _, spec := range o.Specs {
		f, err := o.resolve(ctx, loaded, spec)
		if err != nil {
			return nil, nil, err
		}
		if err = f.refuse(); err == nil {
			err = o.choose(ctx, f)
		}
		first := byName[f.name()]
		if err == nil && first != nil {
			err = f.refuseSecond(first)
		}
		if err != nil {
			if why := (*beagle.UsageError)(nil); o.Skip && errors.As(err, &why) {
				*left = append(*left, LeftOut{spec, strings.TrimPrefix(why.What, "--probe "+spec+": ")})
				continue
			}
			return nil, nil, err
		}
		if first != nil {
			continue
		}
		byName[f.name()] = f
		all = append(all, f)
		if root := all[0].pkg.Module.Path; f.pkg.Module.Path != root {
			return nil, nil, &beagle.UsageError{
				What: fmt.Sprintf("--probe %s: its module is %s, and that of %s is %s", spec, f.pkg.Module.Path,
					all[0].spec, root),
				Remedy: "name functions of one module, or require " + module + " in both",
			}
		}
	}
	// The function to roll out.
	if o.Versions != nil {
		f, err := o.resolve(ctx, loaded, o.Versions.Spec)
		if err != nil {
			return nil, nil, err
		}
		if err := errors.Join(f.refuse(), f.refuseVersions()); err != nil {
			return nil, nil, err
		}
		if f.in, err = f.generic(); err != nil {
			return nil, nil, err
		}
		rolled = []*function{f}
	}
	// Check both lists together.
	switch {
	case len(all)+len(rolled) == 0 && len(*left) > 0:
		return nil, nil, &beagle.UsageError{What: "no function can be instrumented: " + (*left)[0].Spec + ": " +
			(*left)[0].Why, Remedy: "name functions that call them"}
	case len(all)+len(rolled) == 0:
		return nil, nil, &beagle.UsageError{What: "no function is named", Remedy: "name one with --probe ./pkg.Func"}
	case len(all) > 0 && len(rolled) > 0 && all[0].pkg.Module.Path != rolled[0].pkg.Module.Path:
		return nil, nil, &beagle.UsageError{What: "--rollout and --probe name functions of two modules",
			Remedy: "name functions of one module"}
	case len(rolled) > 0 && byName[rolled[0].name()] != nil:
		return nil, nil, &beagle.UsageError{What: "--rollout and --probe name the same function",
			Remedy: "record calls of a function that calls it"}
	}
	return all, rolled, nil
}

// choose finds the instantiation of a generic function whose calls are captured.
func (o *Options) choose(ctx context.Context, f *function) (err error) {
	if f.in, err = f.generic(); err != nil {
		return err
	}
	if f.in.declared == "" {
		return f.refuseArgs()
	}
	if o.TypeArgs == nil {
		return f.refusalError("it is generic, and nothing says which instantiation counts",
			"Name it with its type arguments: ./pkg.Func[int].")
	}
	args, err := o.TypeArgs(ctx, f.spec)
	if err != nil {
		return f.refusalError(err.Error(), "Name it with its type arguments: ./pkg.Func[int].")
	}
	return f.instantiate(&f.in, args)
}

// probe returns the probe's import path if the user's build has the module already, else "".
func (o *Options) probe(ctx context.Context) string {
	pkgs, err := o.load(ctx, packages.NeedName|packages.NeedFiles|packages.NeedModule, module)
	if err != nil || len(pkgs) != 1 || len(pkgs[0].Errors) > 0 || len(pkgs[0].GoFiles) == 0 {
		return ""
	}
	return module
}

// An overlayBuilder collects the files of an [Overlay].
type overlayBuilder struct {
	dir     string
	replace map[string]string
}

// add puts a file where the go command is to see it.
func (w *overlayBuilder) add(at, text string) error {
	file := filepath.Join(w.dir, strconv.Itoa(len(w.replace))+".go")
	w.replace[at] = file
	return os.WriteFile(file, []byte(text), 0o644)
}

// addProbe adds the probe's packages to the user's module.
func (w *overlayBuilder) addProbe(root *packages.Module, at string) error {
	return fs.WalkDir(probe.Source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") || name == "source.go" {
			return err
		}
		text, err := fs.ReadFile(probe.Source, name)
		if err != nil {
			return err
		}
		s := strings.ReplaceAll(string(text), strconv.Quote(module+"/wire"), strconv.Quote(at+"/wire"))
		s = strings.ReplaceAll(s, strconv.Quote(module), strconv.Quote(at))
		return w.add(filepath.Join(root.Dir, filepath.FromSlash(inside), filepath.FromSlash(name)), lift(s))
	})
}

var constraint = regexp.MustCompile(`(?m)^//go:build (.*)$`)

// lift gives a file its own language version: the user's module may have an older one.
func lift(text string) string {
	const language = "go1.24"
	if m := constraint.FindStringSubmatchIndex(text); m != nil {
		return text[:m[0]] + "//go:build (" + text[m[2]:m[3]] + ") && " + language + text[m[1]:]
	}
	return "//go:build " + language + "\n\n" + text
}

// edit adds the copies of the files that declare the functions.
func (w *overlayBuilder) edit(funcs, rolled []*function, v *Versions, probePath string) error {
	files := map[string]*edited{}
	var order []string
	numbers := map[string]int{}
	for _, f := range append(slices.Clone(funcs), rolled...) {
		// Read each file once: it may hold several functions.
		e := files[f.path]
		if e == nil {
			text, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			e = &edited{text: string(text)}
			files[f.path], order = e, append(order, f.path)
			e.imports(f, probeName, probePath)
		}
		// Let versions take turns in a function that is rolled out, and capture the others.
		if slices.Contains(rolled, f) {
			e.imports(f, rolloutName, probePath+"/rollout")
			if err := w.addVersions(f, e, v, numbers[f.pkg.PkgPath]); err != nil {
				return fmt.Errorf("%s: %w", f.spec, err)
			}
			numbers[f.pkg.PkgPath]++
			continue
		}
		e.imports(f, unsafeName, "unsafe")
		if err := e.instrument(f, numbers[f.pkg.PkgPath]); err != nil {
			return fmt.Errorf("%s: %w", f.spec, err)
		}
		numbers[f.pkg.PkgPath]++
	}
	// Put the edited files into the overlay.
	for _, at := range order {
		if err := w.add(at, files[at].apply()); err != nil {
			return err
		}
	}
	return nil
}

// imports adds an import to a file, once.
func (e *edited) imports(f *function, name, path string) {
	end := f.pkg.Fset.PositionFor(f.file.Name.End(), false).Offset
	added := syntax.Edit{Start: end, End: end, New: fmt.Sprintf("; import %s %q", name, path)}
	if !slices.Contains(e.edits, added) {
		e.edits = append(e.edits, added)
	}
}
