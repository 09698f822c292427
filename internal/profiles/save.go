package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// Save writes profiles into a directory that [Read] takes as a source: a directory for each
// instance, a file for each profile. A live service cannot be asked for the same profile twice.
func Save(dir string, all []*hotspots.Profile) error {
	for i, p := range all {
		at := filepath.Join(dir, strings.NewReplacer("/", "_", ":", "_").Replace(cmp.Or(p.Instance, p.Group, "all")))
		err := os.MkdirAll(at, 0o777)
		if err == nil {
			err = save(filepath.Join(at, fmt.Sprintf("%d-%s.pprof", i, p.Kind)), p)
		}
		if err != nil {
			return &beagle.UsageError{What: "--save: " + err.Error(), Remedy: "name a directory that can be written"}
		}
	}
	return nil
}

// save writes one profile, with its length in time: a delta profile does not hold it.
func save(file string, p *hotspots.Profile) error {
	kept := p.Pprof.Copy()
	if kept.DurationNanos == 0 {
		kept.DurationNanos = int64(p.Seconds * float64(time.Second))
	}
	return replace(file, kept.Write)
}

// replace writes a file under another name and renames it, so that a full disk leaves no part of
// it.
func replace(file string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".beagle-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
