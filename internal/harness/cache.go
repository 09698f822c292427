package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
)

// rt and the main package take a second or two to compile. The one changes with
// Beagle and the toolchain only, the other with the target's package too. A few
// of their archives stay in the user's cache directory, by the hash of all that
// went into them: those that were used last.

const maxKept = 40

// cacheDir is beside what internal/store keeps; "" when there is no place.
func cacheDir() string {
	home := os.Getenv("BEAGLE_HOME")
	if home == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(dir, "beagle")
	}
	return filepath.Join(home, "harness")
}

// keyOf hashes the parts of a key, each apart.
func keyOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// seal ends a kept archive: it says which one it is, and that it is whole. A
// damaged one would fail every build from then on.
func seal(key string, archive []byte) string {
	return fmt.Sprintf("%08x%s", crc32.ChecksumIEEE(archive), key)
}

// readArchive returns a kept archive, or nil if there is none or it is damaged.
func readArchive(key string) []byte {
	dir := cacheDir()
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, key+".a")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	archive := text[:max(0, len(text)-len(seal(key, nil)))]
	if string(text[len(archive):]) != seal(key, archive) {
		return nil
	}
	now := time.Now()
	os.Chtimes(path, now, now) // prune goes by it; where it cannot be, the archive is compiled again one day
	return archive
}

// keep stores an archive. That it cannot is no failure: it is compiled again.
func keep(key string, archive []byte) {
	dir := cacheDir()
	if dir == "" || os.MkdirAll(dir, 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new")
	if err != nil {
		return
	}
	_, err = f.Write(append(slices.Clone(archive), seal(key, archive)...))
	if cerr := f.Close(); err != nil || cerr != nil || os.Rename(f.Name(), filepath.Join(dir, key+".a")) != nil {
		os.Remove(f.Name())
	}
	prune(dir)
}

// prune removes the archives that were used longest ago, and the leftovers of a process that was
// killed while it wrote one.
func prune(dir string) {
	torn, _ := filepath.Glob(filepath.Join(dir, "new*"))
	for _, n := range torn {
		if info, err := os.Stat(n); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(n)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.a"))
	if err != nil || len(names) <= maxKept {
		return
	}
	age := map[string]int64{}
	for _, n := range names {
		if info, err := os.Stat(n); err == nil {
			age[n] = info.ModTime().UnixNano()
		}
	}
	inorder.By(names, func(a, b string) int { return int(age[a]/1e6 - age[b]/1e6) })
	for _, n := range names[:len(names)-maxKept] {
		os.Remove(n)
	}
}
