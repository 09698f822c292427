package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/store"
)

// A recording holds the calls that tests made of a target, and when. A later run takes it over
// while the tests' files stay the same, and runs no test again.
type recording struct {
	At       string          `json:"at"` // UTC
	Captured corpus.Captured `json:"captured"`
}

// recording returns the recording of an earlier run, or makes one with record. It does not keep a
// recording with failures, since those tests may pass the next time.
func (n *inputs) recording(record func() (*corpus.Captured, error)) (*corpus.Captured, error) {
	key, ok := n.recordingKey()
	var known recording
	if ok && !n.spec.Anew && n.works.store.Cached(key, &known) {
		n.watch.Note("record",
			fmt.Sprintf("not again: the tests' calls are known since %s UTC, and the module is as it was; --anew "+
				"records again", known.At))
		return &known.Captured, nil
	}
	captured, err := record()
	if err != nil || !ok || len(captured.Failures) > 0 {
		return captured, err
	}
	return captured, n.works.store.Cache(key, recording{time.Now().UTC().Format(time.DateTime), *captured})
}

// recordingKey identifies a recording by the files that the tests depend on; false if they are
// too many to read. They are read once: a run begins with the files of its first look.
func (n *inputs) recordingKey() (store.Key, bool) {
	t := &n.unit.Target
	n.files.once.Do(func() { n.files.print, n.files.known = modulesPrint(t.Dir, n.spec.Judged) })
	if !n.files.known {
		return store.Key{}, false
	}
	return store.Key{
		Kind: "recorded", Toolchain: n.works.machine.Go, Machine: n.works.machine.OS + "/" + n.works.machine.Arch,
		Corpus: n.files.print,
		Extra: beagle.HashOf("recorded", programVersion(), t.Dir, t.Spec(), t.TypeArgs, t.Tags, os.Getenv("GOFLAGS"),
			os.Getenv("GOWORK")),
	}, true
}

// modulesPrint identifies the files of a module and of those beside it on this disk, without the
// judged ones; false if they are too many to read.
func modulesPrint(dir string, judged []string) (string, bool) {
	f := fingerprint{hash: sha256.New(), judged: judged}
	for _, dir := range localModules(dir) {
		if err := f.add(dir, false); err != nil {
			return "", false
		}
	}
	return hex.EncodeToString(f.hash.Sum(nil)), true
}

// localModules lists the directories of a module, of its workspace and of its replacements on
// this disk: code that people change without changing go.sum.
func localModules(dir string) []string {
	dirs := []string{filepath.Clean(dir)}
	add := func(base, path string) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		if !slices.Contains(dirs, path) {
			dirs = append(dirs, path)
		}
	}
	// Add the modules of a workspace, then those that some go.mod replaces.
	if path := workspace(dir); path != "" {
		text, err := os.ReadFile(path)
		if w, bad := modfile.ParseWork(path, text, nil); err == nil && bad == nil {
			for _, use := range w.Use {
				add(filepath.Dir(path), use.Path)
			}
			for _, r := range w.Replace {
				if r.New.Version == "" {
					add(filepath.Dir(path), r.New.Path)
				}
			}
		}
	}
	for i := 0; i < len(dirs); i++ { // grows
		path := filepath.Join(dirs[i], "go.mod")
		text, err := os.ReadFile(path)
		m, bad := modfile.Parse(path, text, nil)
		if err != nil || bad != nil || m == nil {
			continue
		}
		for _, r := range m.Replace {
			if r.New.Version == "" {
				add(dirs[i], r.New.Path)
			}
		}
	}
	return dirs
}

// workspace returns the go.work that the go command uses in a directory.
func workspace(dir string) string {
	switch path := os.Getenv("GOWORK"); path {
	case "":
	case "off":
		return ""
	default:
		return path
	}
	for {
		path := filepath.Join(dir, "go.work")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

const (
	maxFiles = 20_000  // of a module
	maxRead  = 1 << 20 // of a file; of larger ones size and time count
)

var errTooMany = errors.New("too many files to look at")

// A fingerprint identifies the files of modules by name and content. It covers Go files, files
// beside them and under testdata, but no versions under judgement, which people write anywhere. A
// test that reads other files may get a recording that is older than those.
type fingerprint struct {
	hash   hash.Hash
	judged []string // paths that do not count
	files  int
}

// add enters a directory; inside says that it is below testdata.
func (f *fingerprint) add(dir string, inside bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	isGo := func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".go") && !slices.Contains(f.judged, filepath.Join(dir, e.Name()))
	}
	counts := inside || slices.ContainsFunc(entries, isGo)
	for _, e := range entries {
		path, name := filepath.Join(dir, e.Name()), e.Name()
		switch {
		case e.IsDir() && !inside && (name[0] == '.' || name[0] == '_'):
		case e.IsDir():
			err = f.add(path, inside || name == "testdata")
		case slices.Contains(f.judged, path):
		case counts || strings.HasPrefix(name, "go."): // go.mod, go.sum, go.work
			err = f.file(path, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fingerprint) file(path string, e fs.DirEntry) error {
	if f.files++; f.files > maxFiles {
		return errTooMany
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	fmt.Fprintf(f.hash, "%q %v %d\n", path, info.Mode(), info.Size())
	if !info.Mode().IsRegular() || info.Size() > maxRead {
		fmt.Fprintln(f.hash, info.ModTime().UnixNano())
		return nil
	}
	text, err := os.ReadFile(path)
	sum := sha256.Sum256(text)
	f.hash.Write(sum[:])
	return err
}

// A gathered holds the inputs of a corpus before the original has run on them, or the corpus that
// an earlier run made of them.
type gathered struct {
	records *corpus.Gathered
	known   *corpus.Built // nil if no earlier run made it
	key     store.Key
	keyed   bool // the corpus can be kept
}

// gather takes the corpus that an earlier run made of the same records, or gathers them. It needs
// no program, so the original may be built meanwhile.
func (n *inputs) gather(in *corpus.Input) *gathered {
	g := new(gathered)
	g.key, g.keyed = n.recordingKey() // also the packages that the original calls
	g.key.Kind, g.key.Machine = "built", kind(n.works.machine)
	g.key.Extra += beagle.HashOf("built", n.unit.Target.ID(), in)
	known := new(corpus.Built)
	if g.keyed && !n.spec.Anew && n.works.store.Cached(g.key, known) {
		g.known = known
		return g
	}
	g.records = corpus.Gather(n.unit, *in)
	return g
}

// settled has do called with the training records as soon as no other follows, unless the corpus is
// known.
func (g *gathered) settled(do func(*beagle.Corpus)) {
	if g.records != nil {
		g.records.Settled = do
	}
}

// built makes the corpus of gathered inputs, unless it is known.
func (n *inputs) built(ctx context.Context, bin *harness.Binary, g *gathered) (*corpus.Built, error) {
	if g.known != nil {
		return g.known, nil
	}
	out, err := g.records.Build(ctx, bin, n.lab.box)
	if err != nil || !g.keyed {
		return out, err
	}
	return out, n.works.store.Cache(g.key, out)
}
