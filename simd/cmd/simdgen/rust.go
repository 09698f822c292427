package main

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

//go:embed simdgen.rs
var prelude []byte

// pinnedRust is the compiler whose bytes are committed.
const pinnedRust = "1.95.0"

var targets = map[string]string{
	"amd64": "x86_64-unknown-linux-gnu",
	"arm64": "aarch64-unknown-linux-gnu",
}

// A rust compiles kernels of one root file for one architecture in a
// directory of its own.
type rust struct {
	root string
	arch string
	tmp  string
}

// kernelFlags are the flags for every kernel: no red zone (Windows), the prologue first and whole,
// one flat function, no unwinding.
var kernelFlags = strings.Fields(`--edition 2021 --crate-type rlib --crate-name kernels --cap-lints allow
	-C opt-level=3 -C panic=abort -C codegen-units=1 -C debuginfo=0 -C no-redzone=yes -C force-frame-pointers=no
	-C llvm-args=-enable-shrink-wrap=false -C llvm-args=-inline-threshold=20000`)

var archFlags = map[string][]string{
	"amd64": {"-C", "relocation-model=pie"},
	"arm64": {"-C", "relocation-model=pie", "-C", "code-model=tiny"},
}

func pinned() error {
	out, err := exec.Command("rustc", "--version").Output()
	if err != nil {
		return fmt.Errorf("verify needs rustc %s on PATH: %v", pinnedRust, err)
	}
	if !strings.HasPrefix(string(out), "rustc "+pinnedRust+" ") {
		return fmt.Errorf("verify needs rustc %s, PATH has %s", pinnedRust, strings.TrimSpace(string(out)))
	}
	return nil
}

// newRust builds the prelude for the architecture.
func newRust(root, arch, tmp string) (*rust, error) {
	if targets[arch] == "" {
		return nil, fmt.Errorf("no Rust target for architecture %q; have amd64 and arm64", arch)
	}
	r := &rust{root: root, arch: arch, tmp: filepath.Join(tmp, arch)}
	if err := os.MkdirAll(r.tmp, 0o777); err != nil {
		return nil, err
	}
	src := filepath.Join(r.tmp, "simdgen.rs")
	if err := os.WriteFile(src, prelude, 0o666); err != nil {
		return nil, err
	}
	return r,
		r.run("--edition", "2021", "--crate-type", "rlib", "--crate-name", "simdgen", "-C", "opt-level=3", "-C",
			"panic=abort",
			"--out-dir", r.tmp, "--emit", "link="+r.path("libsimdgen.rlib"), src)
}

func (r *rust) path(name string) string { return filepath.Join(r.tmp, name) }

func (r *rust) run(args ...string) error {
	cmd := exec.Command("rustc", append([]string{"--target", targets[r.arch]}, args...)...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if strings.Contains(string(out), "can't find crate for `core`") {
		return fmt.Errorf("rustc has no library for %s; run: rustup target add %s", targets[r.arch], targets[r.arch])
	}
	return fmt.Errorf("rustc for %s: %v\n%s", targets[r.arch], err, out)
}

// records compiles the signature records alone.
func (r *rust) records() ([]record, error) {
	obj := r.path("records.o")
	args := append([]string{"--cfg", "simdgen_records", "--extern", "simdgen=" + r.path("libsimdgen.rlib"), "--out-dir",
		r.tmp, "--emit", "obj=" + obj}, kernelFlags...)
	if err := r.run(append(args, r.root)...); err != nil {
		return nil, err
	}
	section, err := readRecords(obj)
	if err != nil {
		return nil, err
	}
	recs, err := parseRecords(section)
	if err != nil {
		return nil, err
	}
	sort.Slice(recs, func(i, j int) bool { return recs[i].symbol < recs[j].symbol })
	return recs, nil
}

// compile makes the object and LLVM's listing of one kernel, both from one
// run of the compiler.
func (r *rust) compile(symbol string, t tier) (object, listing string, err error) {
	dir := r.path(symbol) // rustc's own temporary names do not tell kernels apart
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", "", err
	}
	object, listing = filepath.Join(dir, "kernel.o"), filepath.Join(dir, "kernel.s")
	args := append([]string{"--cfg", symbol, "-C", "target-feature=" + t.features,
		"--extern", "simdgen=" + r.path("libsimdgen.rlib"), "--out-dir", dir, "--emit",
		"obj=" + object + ",asm=" + listing}, kernelFlags...)
	args = append(args, archFlags[r.arch]...)
	return object, listing, r.run(append(args, r.root)...)
}

// sourceHash covers every Rust file beside the root and the prelude.
func sourceHash(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(root), "*.rs"))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(prelude)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(f), len(data))
		h.Write(data)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), nil
}
