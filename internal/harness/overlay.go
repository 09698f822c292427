package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// An overlay replaces files for the go command: path there -> path of the content; "" hides a
// file.
type overlay map[string]string

func (o overlay) write(path string) error {
	text, err := json.Marshal(struct{ Replace overlay }{o})
	if err != nil {
		return err
	}
	return write(path, text)
}

// overlay adds rt, the batch's versions and a main package to the user's
// module. in are the versions.
func (t *batch) overlay(in []int) (overlay, error) {
	o, pkg := overlay{}, t.b.target.PkgDir
	// Copies stand in for the files of a package main.
	for path, stand := range t.b.copies {
		o[path] = stand
	}
	if t.pkg != nil {
		for i, path := range t.b.u.Package.Files() {
			if t.pkg[i] != path {
				o[path] = t.pkg[i]
			}
		}
	}
	// The shim and the versions join the target's package.
	files, err := t.writeShim(in)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		o[filepath.Join(pkg, filepath.Base(f))] = f
	}
	// Package rt goes below it, in its own language version.
	names, _, err := rtFor(rt.Judging, t.b.tools.GOOS, t.b.tools.GOARCH)
	if err != nil {
		return nil, err
	}
	source := rt.Judging.Files()
	for _, name := range names {
		file := filepath.Join(t.dir, "rt", name)
		if err := write(file, []byte(Modern(source[name]))); err != nil {
			return nil, err
		}
		o[filepath.Join(pkg, filepath.FromSlash(rtDir), name)] = file
	}
	// The main package goes beside it.
	main := filepath.Join(t.dir, "main.go")
	o[filepath.Join(pkg, filepath.FromSlash(mainDir), "main.go")] = main
	return o, write(main, mainText(t.b.target.PkgPath+rtDir, t.b.target.PkgPath))
}

var constraint = regexp.MustCompile(`(?m)^//go:build (.*)$`)

// Modern gives the text of a file of rt its own language version: inside the user's module it would
// have that of the module, which may be older.
func Modern(text string) string {
	if m := constraint.FindStringSubmatchIndex(text); m != nil {
		return text[:m[0]] + "//go:build (" + text[m[2]:m[3]] + ") && go1.23" + text[m[1]:]
	}
	return "//go:build go1.23\n\n" + text
}

// viaGo builds with the go command, which knows assembly, cgo, embedded files
// and the race detector.
func (t *batch) viaGo(ctx context.Context, bin *Binary) error {
	b, start := t.b, time.Now()
	compiler, err := t.profileFlags(ctx, bin)
	if err != nil {
		return err
	}
	// Give the go command the overlay, the tags, and flags for the compiler's account.
	overlayFile, notes := filepath.Join(t.dir, "overlay.json"), filepath.Join(t.dir, "account")
	bin.goArgs = append([]string{"build", "-overlay=" + overlayFile, "-buildvcs=false", "-trimpath"}, bin.goArgs...)
	bin.goArgs = append(bin.goArgs, source.TagFlags(b.target.Tags)...)
	if bin.Link.Race {
		bin.goArgs = append(bin.goArgs, "-race")
	} else {
		compiler = append(compiler, "-json=0,"+notes)
	}
	if len(compiler) > 0 {
		bin.goArgs = append(bin.goArgs, "-gcflags="+b.target.PkgPath+"="+strings.Join(compiler, " "))
	}
	// Build, and leave out versions that the compiler refuses.
	err = t.settle(ctx, func(in []int) (string, error) {
		o, err := t.overlay(in)
		if err != nil {
			return "", err
		}
		if err := o.write(overlayFile); err != nil {
			return "", err
		}
		return refusal(b.goBuild(ctx, t.env(bin), bin.goLinkArgs(b)...))
	})
	if err != nil {
		return t.explain(bin, err)
	}
	// Read the facts off the archive, except in race builds.
	bin.Compile = time.Since(start)
	if bin.Link.Race {
		return nil
	}
	return t.inspect(bin, t.archive(ctx, bin), notes)
}

// profileFlags tells the go command of the profile, and returns the compiler's
// flags for the target's package: the profile of all versions is in the form
// that the compiler reads, which the go command does not take.
func (t *batch) profileFlags(ctx context.Context, bin *Binary) ([]string, error) {
	bin.goArgs = append(bin.goArgs, "-pgo="+profileOf(bin.Link))
	if bin.Link.PGO == "" {
		return nil, nil
	}
	profile, err := t.profile(ctx, bin.Link.PGO)
	if err != nil {
		return nil, err
	}
	return []string{"-pgoprofile=" + profile}, nil
}

// env returns further variables of the environment: the race detector needs cgo.
func (t *batch) env(bin *Binary) []string {
	if bin.Link.Race {
		return []string{"CGO_ENABLED=1"}
	}
	return nil
}

// explain rewords errors that a user can mend.
func (t *batch) explain(bin *Binary, err error) error {
	msg := err.Error()
	if bin.Link.Race &&
		(strings.Contains(msg, "-race requires cgo") || strings.Contains(msg, "C compiler") ||
			strings.Contains(msg, "-race is not supported")) {
		return fmt.Errorf("the race detector needs cgo and a C compiler: %w", err)
	}
	return err
}

func (bin *Binary) goLinkArgs(b *Builder) []string {
	args := append(bin.goArgs[:len(bin.goArgs):len(bin.goArgs)], "-ldflags="+strings.Join(bin.Link.LinkerFlags(), " "),
		"-o", bin.Path)
	return append(args, b.target.PkgPath+mainDir)
}

// goLink runs the go command again; it finds everything but the link in its
// cache.
func (b *Builder) goLink(ctx context.Context, bin *Binary) error {
	start := time.Now()
	var env []string
	if bin.Link.Race {
		env = []string{"CGO_ENABLED=1"}
	}
	why, err := refusal(b.goBuild(ctx, env, bin.goLinkArgs(b)...))
	if err == nil && why != "" {
		err = fmt.Errorf("linking the harness: %s", why)
	}
	bin.LinkTime = time.Since(start)
	return err
}

// archive finds the archive of the target's package in the go command's cache.
func (t *batch) archive(ctx context.Context, bin *Binary) []byte {
	args := append([]string{"list", "-export", "-f", "{{.Export}}"}, bin.goArgs[1:]...)
	r, err := t.b.goBuild(ctx, nil, append(args, t.b.target.PkgPath)...)
	if err != nil || !r.OK() {
		return nil
	}
	text, _ := os.ReadFile(strings.TrimSpace(string(r.Stdout)))
	return text
}
