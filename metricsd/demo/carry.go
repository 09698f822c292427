package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A demo is one run of the chain, in its directory of results.
type demo struct {
	root, module string // of the repository and of metricsd
	out, found   string
	set          settings
	steps        []step
	say          func(string)

	within time.Duration // for all steps together
	start  time.Time     // moved back by the time that earlier attempts took
}

// deadline returns the deadline of a step: the given share of the whole time.
func (d *demo) deadline(share float64) time.Time {
	return d.start.Add(time.Duration(share * float64(d.within)))
}

// Shares of the time by which steps must end. A rollout that is undecided by then promotes nothing.
const (
	campaignShare = 0.55
	rolloutShare  = 0.82
	measureShare  = 0.97
)

// A step does one part of the chain. Its result is kept.
type step struct {
	name, title, what string
	run               func(ctx context.Context, d *demo, w *work) (any, error)
}

// A record is the result of a step, as its file has it.
type record struct {
	Step     string          `json:"step"`
	Key      string          `json:"key"` // of the settings and of the earlier results
	Ended    string          `json:"ended"`
	Seconds  float64         `json:"seconds"`
	Commands []command       `json:"commands"`
	Result   json.RawMessage `json:"result"`
}

// carry runs the steps that have no result yet, or one for other settings.
func (d *demo) carry(ctx context.Context, until string) error {
	text, err := json.Marshal(d.set)
	if err != nil {
		return err
	}
	tree, err := d.tree()
	if err != nil {
		return err
	}
	// The key of a step is a chain: the settings and the sources, then the name and result of each
	// step before it. So a step is repeated exactly when one of these changes.
	key := keyOf(string(text), tree)
	d.start = time.Now()
	for i, s := range d.steps {
		key = keyOf(key, s.name)
		dir := d.dir(i, s)
		r, err := readRecord(dir)
		if err != nil {
			return err
		}
		// Skip a finished step, and count its time as if it had run now: the steps share one time
		// in which to end.
		if r == nil || r.Key != key {
			if r, err = d.take(ctx, s, dir, key); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		} else {
			d.say(fmt.Sprintf("%d/%d %s: done before", i+1, len(d.steps), s.name))
			d.start = d.start.Add(-time.Duration(r.Seconds * float64(time.Second)))
		}
		var plain bytes.Buffer // the file's result is indented
		if err := json.Compact(&plain, r.Result); err != nil {
			return err
		}
		key = keyOf(key, plain.String())
		if s.name == until {
			return nil
		}
	}
	return nil
}

// tree identifies the sources of Beagle and of metricsd: a profile of other sources names functions
// that may not exist.
func (d *demo) tree() (string, error) {
	sum := sha256.New()
	// The results, git's files and tests do not change the programs.
	err := filepath.WalkDir(d.root, func(at string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && (at == d.out || name == ".git" || name == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go" && name != "go.mod" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(at)
		// Names and lengths are hashed too, so that text cannot move from one file into the next.
		fmt.Fprintf(sum, "%s %d\n", strings.TrimPrefix(at, d.root), len(data))
		sum.Write(data)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

func (d *demo) dir(i int, s step) string {
	return filepath.Join(d.out, fmt.Sprintf("%d-%s", i+1, s.name))
}

// take runs one step. Files of an earlier attempt with the same key are still there, and a step may
// continue from them.
func (d *demo) take(ctx context.Context, s step, dir, key string) (*record, error) {
	d.say(filepath.Base(dir) + ": " + s.title)
	// Write the key before the step begins: an interrupted attempt continues if everything that it
	// depends on is unchanged, and is removed otherwise.
	begun, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if string(begun) != key {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte(key), 0o644); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	w := &work{demo: d, dir: dir}
	result, err := s.run(ctx, d, w)
	// A step that was interrupted may return without an error, with half of its result.
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	r := &record{Step: s.name, Key: key, Ended: time.Now().UTC().Format(time.RFC3339),
		Seconds: time.Since(start).Seconds(), Commands: w.commands}
	if r.Result, err = json.Marshal(result); err != nil {
		return nil, err
	}
	return r, writeJSON(filepath.Join(dir, "result.json"), r)
}

func keyOf(parts ...string) string {
	text, _ := json.Marshal(parts) // marshalling strings cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// readRecord returns a step's result, or nil without one.
func readRecord(dir string) (*record, error) {
	r := new(record)
	err := readJSON(filepath.Join(dir, "result.json"), r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

// resultOf reads the result of an earlier step.
func resultOf[T any](d *demo, name string) (t T, err error) {
	for i, s := range d.steps {
		if s.name != name {
			continue
		}
		r, err := readRecord(d.dir(i, s))
		if err != nil {
			return t, err
		}
		if r == nil {
			break
		}
		return t, json.Unmarshal(r.Result, &t)
	}
	return t, fmt.Errorf("there is no result of %s", name)
}

func readJSON(file string, v any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w; remove the file to take the step again", file, err)
	}
	return nil
}

// writeJSON replaces a file at once, so that no reader sees a part.
func writeJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
