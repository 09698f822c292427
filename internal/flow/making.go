package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
	"github.com/beagle-go/beagle/mutate/rules"
)

// chosenMutators returns the mutators of a spec, which names rules and sets of rules.
func chosenMutators(names []string) ([]*mutate.Mutator, error) {
	if len(names) == 0 {
		return rules.Default, nil
	}
	var out []*mutate.Mutator
	for _, name := range names {
		if name == lift.Name {
			continue // the set depends on the target
		}
		set, ok := rules.Set(name)
		if m := rules.Named(name); m != nil {
			set, ok = []*mutate.Mutator{m}, true
		}
		if !ok {
			return nil, usage(fmt.Sprintf("--rules names %q, which is not a rewrite", name),
				"'beagle explain' lists them; the sets are default, suite and all")
		}
		for _, m := range set {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// rulesIdentity identifies this program and the rules of a run. Another version of Beagle, or a run
// with other rules, may offer other next steps on the same candidate.
func rulesIdentity(mutators []*mutate.Mutator) string {
	parts := []any{programVersion()}
	for _, m := range mutators {
		parts = append(parts, m.Name)
	}
	return beagle.HashOf("making", parts...)
}

// AuthorsIdentity identifies the authors of a search's candidates and their ranking: this version
// of Beagle, the rules, models and agents of the spec, and its score.
func AuthorsIdentity(s *Spec) (string, error) {
	mutators, err := chosenMutators(s.Rules)
	if err != nil {
		return "", err
	}
	return beagle.HashOf("authors", rulesIdentity(mutators), s.lifts(), s.Models.Ask, s.Score), nil
}

// programVersion identifies this program: by its version or, in a developer's build, by its file.
var programVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if version := info.Main.Version; ok && version != "(devel)" && version != "" &&
		!strings.Contains(version, "+dirty") {
		return version
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
})
