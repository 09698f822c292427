package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/store"
)

// A recording is what tests passed to a target, and when. It is taken again as
// long as nothing changed that the tests are made of: they are not run again.
type recording struct {
	At       string          `json:"at"` // UTC
	Captured corpus.Captured `json:"captured"`
}

// recorded takes the recording of an earlier run, or makes one with record. One
// with failures is not kept: what fails may pass the next time.
func (x *session) recorded(record func() (*corpus.Captured, error)) (*corpus.Captured, error) {
	key, ok := x.recordingKey()
	var known recording
	if ok && !x.spec.Anew && x.store.Cached(key, &known) {
		x.watch.Stage("record", fmt.Sprintf("not again: the tests' calls are known since %s UTC, and the module is as it was; --anew records again", known.At))
		return &known.Captured, nil
	}
	captured, err := record()
	if err != nil || !ok || len(captured.Failures) > 0 {
		return captured, err
	}
	return captured, x.store.Cache(key, recording{time.Now().UTC().Format(time.DateTime), *captured})
}

// recordingKey identifies a recording by what the tests are made of; false when
// that is too much to be looked at.
func (x *session) recordingKey() (store.Key, bool) {
	t := &x.unit.Target
	h := sha256.New()
	for _, dir := range localModules(t.Dir) {
		if err := fingerprint(h, dir); err != nil {
			return store.Key{}, false
		}
	}
	return store.Key{
		Kind: "recorded", Toolchain: x.machine.Go, Machine: x.machine.OS + "/" + x.machine.Arch, Corpus: hex.EncodeToString(h.Sum(nil)),
		Extra: beagle.HashOf("recorded", program(), t.Dir, t.Spec(), t.TypeArgs, t.Tags, os.Getenv("GOFLAGS"), os.Getenv("GOWORK")),
	}, true
}

// localModules are the directories of a module, of its workspace, and of the
// replacements on this disk: what people change without changing go.sum.
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

// workspace is the go.work that the go command takes in a directory.
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
	mostFiles = 20_000  // of a module
	mostRead  = 1 << 20 // of a file; of larger ones size and time count
)

var errTooMany = errors.New("too many files to look at")

// fingerprint writes what the files of a directory are: names and contents.
func fingerprint(h io.Writer, dir string) error {
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), ".git"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if n++; n > mostFiles {
			return errTooMany
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v %d\n", path, info.Mode(), info.Size())
		if !info.Mode().IsRegular() || info.Size() > mostRead {
			_, err = fmt.Fprintln(h, info.ModTime().UnixNano())
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			sum := sha256.Sum256(text)
			_, err = h.Write(sum[:])
		}
		return err
	})
}

// built takes the corpus that an earlier run made of the same records, or makes
// it.
func (x *session) built(in *corpus.Input, build func() (*corpus.Built, error)) (*corpus.Built, error) {
	key, ok := x.recordingKey() // what the original calls decides too
	key.Kind, key.Machine = "built", kind(x.machine)
	key.Extra += beagle.HashOf("built", x.unit.Target.ID(), in)
	known := new(corpus.Built)
	if ok && !x.spec.Anew && x.store.Cached(key, known) {
		return known, nil
	}
	out, err := build()
	if err != nil || !ok {
		return out, err
	}
	return out, x.store.Cache(key, out)
}
