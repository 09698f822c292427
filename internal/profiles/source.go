package profiles

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/tail"
)

// Options say how sources are read.
type Options struct {
	// Seconds and Over plan a live profile, as [NewPlan] takes them.
	Seconds int
	Over    time.Duration
	// Early says that the end of the context ends live profiles early, and that what they took
	// until then is the answer.
	Early     bool
	Instances float64 // that each source stands for when it does not say; 0 for unknown
	Token     string  // sent as a bearer token to the servers that are named
	Now       func() time.Time
	// Warn gets the doubts that do not stop the reading.
	Warn func(string)
	// Live profiles call Progress before they begin and after each slice, on several goroutines.
	Progress func(Progress)

	answer      time.Duration // that a service may take for its answer
	interrupted func() bool   // reports whether what live profiles took until now is the answer
}

// Progress says how far the profile of a running service is.
type Progress struct {
	Source string // its address; a host may serve several
	Taken  int    // slices
	Plan   Plan
	Until  time.Time // when it ends
}

// Read reads all sources: a file, a directory, the address of a service with
// /debug/pprof, or a profile store. N@SOURCE says that a source stands for N
// instances.
func Read(ctx context.Context, sources []string, o Options) ([]*hotspots.Profile, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.answer == 0 {
		o.answer = answerTime
	}
	// The context of the group ends with the first failure, too, which is no interrupt.
	user := ctx
	o.interrupted = func() bool { return o.Early && user.Err() != nil }
	found := make([][]*hotspots.Profile, len(sources))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i, text := range sources {
		g.Go(func() (err error) {
			found[i], err = fetch(ctx, text, o)
			if errors.Is(err, context.Canceled) && o.interrupted() && len(sources) > 1 {
				o.Warn(fmt.Sprintf("%s is left out: stopped before it had a profile", Redacted(text)))
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var all []*hotspots.Profile
	for _, f := range found {
		all = append(all, f...)
	}
	if len(all) == 0 && o.interrupted() {
		return nil, user.Err()
	}
	return all, nil
}

// Live reports whether a source is a running service, of which a profile is taken.
func Live(source string) bool {
	if _, rest, err := instances(source); err == nil {
		source = rest
	}
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// Store reports whether a source is a profile store.
func Store(source string) bool {
	return !Live(source) && strings.Contains(source, "://")
}

// Redacted returns a source without the password that may be in it.
func Redacted(source string) string {
	n, rest, err := instances(source)
	switch {
	case err != nil || !strings.Contains(rest, "://"):
		return source
	case n > 0:
		return fmt.Sprintf("%.0f@%s", n, redacted(rest))
	}
	return redacted(rest)
}

// fetch fetches the profiles of a source, and gives each the number of instances that it stands
// for.
func fetch(ctx context.Context, text string, o Options) ([]*hotspots.Profile, error) {
	stands, source, err := instances(text)
	if err != nil {
		return nil, err
	}
	if stands == 0 {
		stands = o.Instances
	}
	var all []*hotspots.Profile
	kind, _, isURL := strings.Cut(source, "://")
	switch {
	case isURL && (kind == "http" || kind == "https"):
		all, err = live(ctx, source, o)
	case isURL && (kind == "pyroscope+http" || kind == "pyroscope+https"):
		all, err = pyroscope(ctx, strings.TrimPrefix(source, "pyroscope+"), o)
	case isURL && (kind == "parca+http" || kind == "parca+https"):
		all, err = parca(ctx, strings.TrimPrefix(source, "parca+"), o)
	case isURL:
		return nil, &beagle.UsageError{
			What: redacted(source) + ": unknown kind of source",
			Remedy: "give http:// or https:// for a service, pyroscope+http:// or parca+http:// for a profile " +
				"store, or a path",
		}
	default:
		all, err = files(source)
	}
	if err != nil {
		return nil, err
	}
	groups := map[string]int{}
	for _, p := range all {
		if !p.Whole && p.Kind == hotspots.CPU {
			groups[p.Group]++
		}
	}
	for _, p := range all {
		if !p.Whole && stands > 0 {
			// A directory with one directory a host: its groups share the number.
			p.Stands = stands / float64(max(1, len(groups)))
		}
	}
	return all, nil
}

// instances takes N@ off a source.
func instances(text string) (n float64, source string, err error) {
	head, tail, ok := strings.Cut(text, "@")
	if !ok || head == "" || strings.Trim(head, "0123456789") != "" {
		return 0, text, nil
	}
	what := ""
	switch n, err = strconv.ParseFloat(head, 64); {
	case err != nil || n < 1 || n > 1e7:
		what = fmt.Sprintf("%q: %s is not a number of instances", text, head)
	case tail == "":
		what = fmt.Sprintf("%q: no source follows the number of instances", text)
	default:
		return n, tail, nil
	}
	return 0, "", &beagle.UsageError{What: what,
		Remedy: "write N@SOURCE, as in 40@cpu.pprof for a profile that stands for 40 instances"}
}

// Instances takes N@ off a name: N@FILE stands for N instances of a service, and FILE for one.
func Instances(text string) (n float64, name string, err error) {
	n, name, err = instances(text)
	return max(n, 1), name, err
}

// redacted returns an address without the password that may be in it.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(address that does not parse)"
	}
	return u.Redacted()
}

// maxFiles bounds a slip such as naming /.
const maxFiles = 10_000

// files reads a file, or all profiles of a directory. Each directory below it
// is an instance of its own.
func files(name string) ([]*hotspots.Profile, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, &beagle.UsageError{
			What:   tail.FileError(err),
			Remedy: "name a profile, a directory of profiles, or an address such as http://localhost:6060",
		}
	}
	if !info.IsDir() {
		p, err := file(name)
		if err != nil {
			return nil, err
		}
		return []*hotspots.Profile{p}, nil
	}
	return directory(name)
}

// file reads a profile from a file.
func file(name string) (*hotspots.Profile, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &beagle.UsageError{What: name + " is not a regular file", Remedy: "name a profile"}
	}
	if err == nil && info.Size() > hotspots.MaxPacked {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s has %d MB; profiles have up to %d", name, info.Size()>>20, hotspots.MaxPacked>>20),
			Remedy: "give a profile of pprof; it is packed with gzip",
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, &beagle.UsageError{What: err.Error(), Remedy: "name a profile that can be read"}
	}
	return hotspots.Parse(name, data)
}

// profileName reports whether a file is a profile by its name.
func profileName(name string) bool {
	for _, end := range []string{".pprof", ".prof", ".pb.gz", ".pb", ".profile"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// directory reads the profiles below a directory. Each directory below it is an instance.
func directory(root string) ([]*hotspots.Profile, error) {
	var all []*hotspots.Profile
	tooMany := errors.New("too many")
	err := filepath.WalkDir(root, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !profileName(e.Name()) {
			return err
		}
		// Each directory below the root is an instance.
		p, err := file(at)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(at))
		if err != nil {
			return err
		}
		if p.Group = root; rel != "." {
			p.Group, p.Instance = filepath.Join(root, rel), filepath.ToSlash(rel)
		}
		if all = append(all, p); len(all) > maxFiles {
			return tooMany
		}
		return nil
	})
	// Refuse what cannot be ranked.
	switch {
	case errors.Is(err, tooMany):
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s holds more than %d profiles", root, maxFiles),
			Remedy: "name a directory with fewer, such as that of one day",
		}
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, &beagle.UsageError{
			What:   root + " holds no profiles",
			Remedy: "profiles end in .pprof, .prof, .pb.gz, .pb or .profile; name another file by itself",
		}
	}
	return all, nil
}
