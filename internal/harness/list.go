package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/source"
)

// A listed is the output of `go list` for a package.
type listed struct {
	ImportPath  string
	Export      string
	Standard    bool
	ImportMap   map[string]string
	GoFiles     []string
	CgoFiles    []string
	SFiles      []string
	CFiles      []string
	EmbedFiles  []string
	TestGoFiles []string
	Deps        []string
	Dir         string
	Module      *struct{ Dir string }
	Error       *struct{ Err string }
}

const listFields = "ImportPath,Export,Standard,ImportMap,GoFiles,CgoFiles,SFiles,CFiles," +
	"EmbedFiles,TestGoFiles,Deps,Dir,Module,Error"

// needsGoBuild returns the reason why a package cannot be compiled directly, or "".
func (p *listed) needsGoBuild() string {
	switch {
	case len(p.CgoFiles)+len(p.CFiles) > 0:
		return "cgo"
	case len(p.SFiles) > 0:
		return "assembly"
	case len(p.EmbedFiles) > 0:
		return "embedded files"
	}
	return ""
}

// A toolchain describes the go command that the module selects.
type toolchain struct {
	GOROOT, GOTOOLDIR, GOCACHE, GOMODCACHE, GOVERSION string
	GOOS, GOARCH, GOAMD64, GOARM64, GOEXPERIMENT      string
	GOFLAGS, GOWORK, GOMOD                            string

	cgo bool
}

func findToolchain(ctx context.Context, dir string) (*toolchain, error) {
	t := new(toolchain)
	return t, GoEnv(ctx, dir, t)
}

// GoEnv asks the go command for the variables that are the exported fields of
// a struct. By name, since for all of them it calls the C compiler too. No
// toolchain is fetched that a module may ask for.
func GoEnv(ctx context.Context, dir string, into any) error {
	args := []string{"env", "-json"}
	for f := range reflect.TypeOf(into).Elem().Fields() {
		if f.IsExported() {
			args = append(args, f.Name)
		}
	}
	out, err := GoOutput(ctx, "go", dir, append(os.Environ(), "GOPROXY=off"), args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	return nil
}

func (t *toolchain) goCommand() string { return filepath.Join(t.GOROOT, "bin", "go") }

func (t *toolchain) tool(name string) string { return filepath.Join(t.GOTOOLDIR, name) }

// env returns the tools' variables beyond the sandbox's own environment.
func (t *toolchain) env() []string {
	cgo := "0"
	if t.cgo {
		cgo = "1"
	}
	return append(t.machine(),
		"GOROOT="+t.GOROOT, "GOCACHE="+t.GOCACHE, "GOMODCACHE="+t.GOMODCACHE, "GOTOOLCHAIN=local",
		"GOFLAGS="+t.GOFLAGS, "GOWORK="+t.GOWORK, "CGO_ENABLED="+cgo, "GOPROXY=off",
	)
}

// machine returns the variables that name the machine to compile for.
func (t *toolchain) machine() []string {
	return []string{"GOOS=" + t.GOOS, "GOARCH=" + t.GOARCH, "GOAMD64=" + t.GOAMD64, "GOARM64=" + t.GOARM64,
		"GOEXPERIMENT=" + t.GOEXPERIMENT}
}

// pie reports whether the go command makes position independent code there.
func (t *toolchain) pie() bool {
	return t.GOOS == "darwin" || t.GOOS == "ios" || t.GOOS == "windows"
}

// packages asks the go command for the export data of packages and of all
// that they depend on. profile is a PGO profile or "off".
func (t *toolchain) packages(
	ctx context.Context, target *beagle.Target, profile string, patterns []string,
) (map[string]*listed, error) {
	args := []string{"list", "-export", "-deps", "-json=" + listFields, "-race=false", "-buildvcs=false",
		"-pgo=" + profile}
	args = append(args, source.TagFlags(target.Tags)...)
	args = append(append(args, "--"), patterns...)
	out, err := GoOutput(ctx, t.goCommand(), target.PkgDir, append(os.Environ(), t.env()...), args...)
	if err != nil {
		return nil, err
	}
	all, err := exports.Decode[*listed](out)
	if err != nil {
		return nil, err
	}
	pkgs := map[string]*listed{}
	for _, p := range all {
		if p.Error != nil {
			return nil, errors.New(p.Error.Err)
		}
		pkgs[p.ImportPath] = p
	}
	return pkgs, nil
}

// GoOutput runs the go command and returns its output; an error holds its standard error. It adds
// [source.Roomy] to the variables.
func GoOutput(ctx context.Context, command, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(env, source.Roomy)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// importConfig returns the file that tells the compiler and the linker where packages are. extra
// takes the place of the target's package.
func importConfig(pkgs map[string]*listed, target string, extra map[string]string) []byte {
	var b bytes.Buffer
	if p := pkgs[target]; p != nil && extra[target] == "" {
		for _, from := range inorder.Keys(p.ImportMap) {
			fmt.Fprintf(&b, "importmap %s=%s\n", from, p.ImportMap[from])
		}
	}
	for _, path := range inorder.Keys(pkgs) {
		if pkgs[path].Export != "" && path != target {
			fmt.Fprintf(&b, "packagefile %s=%s\n", path, pkgs[path].Export)
		}
	}
	for _, path := range inorder.Keys(extra) {
		fmt.Fprintf(&b, "packagefile %s=%s\n", path, extra[path])
	}
	return b.Bytes()
}
