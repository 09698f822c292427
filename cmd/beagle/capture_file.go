package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/source"
)

// A callFile is the file that a capture adds its calls to. A new file beside it replaces it at
// once.
type callFile struct {
	path string
	next *os.File
}

// openFile opens the file of --out, if there is one, before anything is captured: captured calls
// that cannot be written are lost.
func (o *captureFlags) openFile(u *source.Unit) error {
	if o.out == "" {
		return nil
	}
	// An older file must hold calls of this function.
	f := &callFile{path: o.out}
	if at, err := filepath.EvalSymlinks(f.path); err == nil { // a link stays one
		f.path = at
	}
	if _, err := f.older(u); err != nil {
		return err
	}
	// The disk must have room for a few calls.
	next, err := os.CreateTemp(filepath.Dir(f.path), ".beagle-*")
	if err != nil {
		return fmt.Errorf("--out: %w: name a file in a directory that can be written", err)
	}
	f.next, o.file = next, f
	_, err = next.Write(make([]byte, roomForCalls))
	_, seeking := next.Seek(0, io.SeekStart)
	if err := errors.Join(err, next.Truncate(0), seeking); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

const roomForCalls = 64 << 10

// older returns what the file holds already.
func (f *callFile) older(u *source.Unit) (*capture.Records, error) {
	r := &capture.Records{}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return r, nil
	case err != nil:
		return nil, fmt.Errorf("--out: %w", err)
	case !info.Mode().IsRegular(): // /dev/full can be read without end, and must not be replaced
		return nil, &beagle.UsageError{
			What:   "--out: " + f.path + " is not a regular file",
			Remedy: "name a file of JSON lines, or one that is not there yet",
		}
	case info.Size() == 0: // as mktemp makes one
		return r, nil
	}
	if r.List, err = corpus.Load(u, f.path); err != nil {
		return nil, err
	}
	r.Seen.Sources, err = corpus.Provenance(f.path)
	return r, err
}

// write merges the calls with those of the older file. If that fails, it writes the calls alone to
// another place, which the error names.
func (f *callFile) write(u *source.Unit, r *capture.Records) error {
	if len(r.List) == 0 {
		return f.writeOrigin(u, r)
	}
	err := f.merge(u, r)
	if err == nil {
		return nil
	}
	var usage *beagle.UsageError
	if errors.As(err, &usage) { // which would be printed alone
		err = errors.New(usage.What)
	}
	saved, bad := os.CreateTemp("", "beagle-calls-*.jsonl")
	if bad == nil {
		bad = errors.Join(writeCalls(saved, u, r), saved.Close())
	}
	if bad != nil {
		return fmt.Errorf("%w; the captured calls are lost: %w", err, bad)
	}
	return fmt.Errorf("%w; the captured calls are in %s", err, saved.Name())
}

// merge writes the new file, and replaces the older one.
func (f *callFile) merge(u *source.Unit, r *capture.Records) error {
	all, err := f.older(u)
	if err != nil {
		return err
	}
	all.List, all.Seen.Sources = append(all.List, r.List...), append(all.Seen.Sources, r.Seen.Sources...)
	if err := errors.Join(writeCalls(f.next, u, all), f.next.Close()); err != nil {
		return err
	}
	return os.Rename(f.next.Name(), f.path)
}

// writeOrigin adds the origin of a capture without usable calls to a file that exists.
func (f *callFile) writeOrigin(u *source.Unit, r *capture.Records) error {
	all, err := f.older(u)
	if err == nil && len(all.List) == 0 {
		err = fmt.Errorf("no usable call was captured, so %s is not written%s", f.path, emptyReasons(r))
	}
	if err != nil {
		return err
	}
	return f.merge(u, r)
}

// discard removes the new file, if it has not replaced the older one.
func (f *callFile) discard() {
	if f != nil {
		f.next.Close()
		os.Remove(f.next.Name())
	}
}

func writeCalls(w io.Writer, u *source.Unit, r *capture.Records) error {
	return errors.Join(corpus.WriteProvenance(w, r.Seen.Sources), corpus.Write(w, u, corpus.Merge(r.List)))
}
