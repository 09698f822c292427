package profiles

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/scratch"
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
	var b bytes.Buffer
	if err := kept.Write(&b); err != nil {
		return err
	}
	return scratch.Replace(file, b.Bytes(), 0o644)
}
