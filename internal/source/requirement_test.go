package source

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/modcopy/proxytest"
)

const requiringModule = `
-- go.mod --
module example.com/m

go 1.26
MORE
-- k/k.go --
package k

func F(s string) int { return len(s) }
-- other/go.mod --
module example.org/other

go 1.26.0
-- other/other.go --
package other

func Length(s string) int { return len(s) }
-- far/go.mod --
module example.org/far

go 1.26

require example.org/other v1.0.0
-- new/go.mod --
module example.org/new

go 1.99
`

const callsOther = "package k\n\nimport \"example.org/other\"\n\nfunc F(s string) int { return other.Length(s) }\n"

// TestRequire adds a module that go.mod replaces. The user's go.mod stays as it is, and the patch
// holds the change.
func TestRequire(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := module(t, strings.Replace(requiringModule, "MORE", "\nreplace example.org/other => ./other\n", 1))
	o := Options{Dir: dir, Spec: "./k.F", Also: []string{"example.org/other", "example.org/other/none"}}
	q, err := Require(t.Context(), o, "example.org/other", "", t.TempDir())
	if err != nil || q == nil {
		t.Fatal(q, err)
	}
	o.Requirement = q
	u, err := Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f, problem := u.Reader.Parse(callsOther)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	if !f.ImportsModule("example.org/other") || f.ImportsModule("example.org/oth") {
		t.Error("the candidate's imports are read wrongly")
	}
	p, err := u.Writer.Patch(callsOther, q.Patch())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Diff, "+++ b/go.mod") || strings.Contains(p.Diff, "go.sum") {
		t.Errorf("the patch is\n%s", p.Diff)
	}
	before, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || strings.Contains(string(before), "require") {
		t.Errorf("go.mod is changed: %v\n%s", err, before)
	}
	// Whatever the user adds to go.mod in the meantime, the patch leaves alone.
	edited := strings.Replace(string(before), "go 1.26", "go 1.26.1", 1)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if later, err := u.Writer.Patch(callsOther, q.Patch()); err != nil || later.Diff != p.Diff {
		t.Errorf("after a change of go.mod: %v\n%s", err, later.Diff)
	}
	var changed *beagle.UsageError
	if err := Apply(dir, p); !errors.As(err, &changed) {
		t.Errorf("a patch is applied to another go.mod: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), before, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Apply(dir, p); err != nil {
		t.Fatal(err)
	}
	builds(t, dir)
	if again, err := Require(t.Context(), o, "example.org/other", "", t.TempDir()); again != nil || err != nil {
		t.Errorf("it is added twice: %v, %v", again, err)
	}
}

// TestRequireCached adds a module of the module cache, with its checksums.
func TestRequireCached(t *testing.T) {
	for _, older := range []string{"v1.0.0", "v1.2.0"} {
		proxytest.Serve(t, proxytest.Module{Path: "example.org/other", Version: older, Files: map[string]string{
			"go.mod":   "module example.org/other\n\ngo 1.26\n",
			"other.go": "package other\n\nfunc Length(s string) int { return len(s) }\n",
		}})
		t.Setenv("GOWORK", "off")
		dir := module(t, strings.Replace(requiringModule, "MORE", "", 1))
		o := Options{Dir: dir, Spec: "./k.F", Also: []string{"example.org/other"}}
		_, err := Require(t.Context(), o, "example.org/other", "", t.TempDir())
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(bad.Remedy, "go mod download example.org/other@latest") {
			t.Fatalf("a module that is not on this machine: %v", err)
		}
		get := exec.Command("go", "mod", "download", "example.org/other@"+older)
		get.Dir = t.TempDir()
		if out, err := get.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if o.Requirement, err = Require(t.Context(), o, "example.org/other", "", t.TempDir()); err != nil {
			t.Fatal(err)
		}
		// A run goes on with the version that it began with.
		if _, err := Require(t.Context(), o, "example.org/other", "v0.9.0", t.TempDir()); !errors.As(err, &bad) ||
			!strings.Contains(bad.Remedy, "example.org/other@v0.9.0") {
			t.Errorf("a version that is not on this machine: %v", err)
		}
		u, err := Load(t.Context(), o)
		if err != nil || o.Requirement.Version != older {
			t.Fatal(o.Requirement.Version, err)
		}
		p, err := u.Writer.Patch(callsOther, o.Requirement.Patch())
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(dir, p); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOFLAGS", "-mod=readonly") // go.sum must have all that is needed
		builds(t, dir)
	}
}

func builds(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command("go", "vet", "./k")
	c.Dir, c.Env = dir, append(os.Environ(), "GOPROXY=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("the patched module: %v\n%s", err, out)
	}
}

// TestWithLines: each line is there once, and on a line of its own.
func TestWithLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":           "b 1\nd 1\n",
		"a 1\nc 1":   "a 1\nb 1\nc 1\nd 1\n",
		"b 1\nd 1\n": "b 1\nd 1\n",
	} {
		if got := withLines(text, []string{"b 1\n", "d 1\n"}); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestRequireRefuses says what to do where a module cannot be added.
func TestRequireRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		module, more, file, text string
		env                      []string
		want                     string
	}{
		"workspace": {
			"example.org/other", "", "go.work", "go 1.26\n\nuse .\n", []string{"GOWORK="}, "set GOWORK=off",
		},
		"vendored": {
			"example.org/other", "", "vendor/modules.txt", "", []string{"GOFLAGS="},
			"go get example.org/other && go mod vendor",
		},
		"another go.mod": {"example.org/other", "", "", "", []string{"GOFLAGS=-modfile=x.mod"}, "add it to that one"},
		"requirements of its own": {
			"example.org/far", "\nreplace example.org/far => ./far\n", "", "", nil, "go get example.org/far",
		},
		"a newer language": {"example.org/new", "\nreplace example.org/new => ./new\n", "", "", nil, "go get go@1.99"},
		"no replacement": {
			"example.org/none", "\nreplace example.org/none => ./none\n", "", "", nil, "mend the replacement",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, strings.Replace(requiringModule, "MORE", c.more, 1))
			if c.file != "" {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, c.file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			o := Options{Dir: dir, Spec: "./k.F", Env: append([]string{"GOWORK=off", "GOFLAGS="}, c.env...)}
			_, err := Require(t.Context(), o, c.module, "", t.TempDir())
			var bad *beagle.UsageError
			if !errors.As(err, &bad) || !strings.Contains(bad.Remedy, c.want) {
				t.Errorf("%v, want a remedy with %q", err, c.want)
			}
		})
	}
}
