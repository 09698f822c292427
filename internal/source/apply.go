package source

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/scratch"
)

// Apply writes a patch to the files below dir, the module root: all of them or none. It refuses a
// file that changed after the patch was made, a file with uncommitted changes, and a new file that
// already exists.
func Apply(dir string, p beagle.Patch) error {
	// All files are looked at before any is written.
	old := make([]string, len(p.Files))
	for i, f := range p.Files {
		text, err := applicable(dir, f)
		if err != nil {
			return err
		}
		old[i] = text
	}
	// If a later one fails, those that were written get their old text back.
	for i, f := range p.Files {
		if err := replaceFile(filepath.Join(dir, filepath.FromSlash(f.Path)), f.After); err != nil {
			undo(dir, p.Files[:i], old)
			return err
		}
	}
	return nil
}

// Clean refuses a target whose files have uncommitted changes, so that Apply does not refuse them
// after a whole run.
func (u *Unit) Clean() error {
	for _, d := range u.Target.Scope {
		local, err := filepath.Rel(u.Target.Dir, d.File)
		if err != nil {
			return err
		}
		if err := clean(u.Target.Dir, local); err != nil {
			return err
		}
	}
	if u.Requirement == nil {
		return nil
	}
	for _, f := range u.Requirement.Patch() {
		if err := clean(u.Target.Dir, f.Path); err != nil {
			return err
		}
	}
	return nil
}

func clean(dir, local string) error {
	status := gitStatus(dir, local)
	if status == "" {
		return nil
	}
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s has uncommitted changes (git status: %s)", filepath.ToSlash(local), status),
		Remedy: "commit or stash them, so that the change of Beagle can be reviewed and undone alone",
	}
}

// applicable checks one file and returns its present text.
func applicable(dir string, f beagle.PatchFile) (string, error) {
	// A patch may name files of the module only, whatever its text says.
	local := filepath.FromSlash(f.Path)
	if !filepath.IsLocal(local) {
		return "", fmt.Errorf("patch names %q, which is outside the module", f.Path)
	}
	text, err := os.ReadFile(filepath.Join(dir, local))
	// A file must be as it was when the run began: there with the same content, or not there at
	// all.
	switch {
	case os.IsNotExist(err) && f.Before == "":
		return "", nil
	case err != nil && !os.IsNotExist(err):
		return "", err
	case err != nil:
		return "", &beagle.UsageError{
			What:   f.Path + " is gone since the run began",
			Remedy: "restore it, or start the run again",
		}
	case f.Before == "":
		return "", &beagle.UsageError{
			What:   f.Path + " exists already",
			Remedy: "move it away, or apply the diff by hand",
		}
	case fileHash(string(text)) != f.Before:
		return "", &beagle.UsageError{
			What:   f.Path + " changed since the run began",
			Remedy: "start the run again, or apply the diff by hand",
		}
	}
	if err := clean(dir, local); err != nil {
		return "", err
	}
	return string(text), nil
}

// gitStatus returns the status of a file in git, or "" if it is clean, not in a repository, or
// ignored.
func gitStatus(dir, path string) string {
	c := exec.Command("git", "-C", dir, "status", "--porcelain", "--", path)
	c.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	out, err := c.Output()
	if err != nil {
		return "" // no git, or no repository
	}
	status, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(status)
}

// replaceFile puts a new text in place of a file in one step, with its mode.
// A symbolic link stays one.
func replaceFile(path, text string) error {
	mode := fs.FileMode(0o644)
	// A link leads to the file that is to be replaced.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if st, err := os.Stat(path); err == nil {
		mode = st.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return scratch.Replace(path, []byte(text), mode)
}

// undo restores the files that were written before one failed.
func undo(dir string, files []beagle.PatchFile, old []string) {
	for i, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if f.Before == "" {
			os.Remove(path)
		} else {
			replaceFile(path, old[i])
		}
	}
}
