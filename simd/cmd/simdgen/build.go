package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// An output is one generated file.
type output struct {
	path string
	data []byte
}

// A pkg is everything the emitters need to know.
type pkg struct {
	name     string
	path     string
	source   string // kernel root as written in headers
	hash     string
	families []*family
	arches   []string
}

// simdPath is the package that detects the tier.
const simdPath = "github.com/beagle-go/beagle/simd"

// build compiles, checks and links every kernel and renders all files.
func build(opt options) (*pkg, []output, error) {
	if opt.rust == "" {
		return nil, nil, fmt.Errorf("-rust is missing: name the root file of the kernels")
	}
	p, err := describe(opt)
	if err != nil {
		return nil, nil, err
	}
	tmp, err := os.MkdirTemp("", "simdgen")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(tmp)
	for _, arch := range opt.arch {
		r, err := newRust(opt.rust, arch, tmp)
		if err != nil {
			return nil, nil, err
		}
		if err := p.compile(r); err != nil {
			return nil, nil, err
		}
	}
	files, err := p.render(opt.dir)
	return p, files, err
}

// describe asks the go command what package the directory holds.
func describe(opt options) (*pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{.Name}}", ".")
	cmd.Dir = opt.dir
	out, err := cmd.Output()
	path, name, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || name == "" {
		return nil, fmt.Errorf("%s holds no Go package; write the Go fallbacks of the kernels there first", opt.dir)
	}
	hash, err := sourceHash(opt.rust)
	if err != nil {
		return nil, err
	}
	source := filepath.Join(filepath.Base(filepath.Dir(opt.rust)), filepath.Base(opt.rust))
	if filepath.Dir(opt.rust) == "." {
		source = filepath.Base(opt.rust)
	}
	return &pkg{name: name, path: path, source: filepath.ToSlash(source), hash: hash, arches: opt.arch}, nil
}

// compile adds the kernels of one architecture.
func (p *pkg) compile(r *rust) error {
	recs, err := r.records()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	kernels := make([]*kernel, len(recs))
	errs := make([]error, len(recs))
	for i, rec := range recs {
		wg.Go(func() { kernels[i], errs[i] = compileKernel(r, rec) })
		if i%2 == 1 {
			wg.Wait() // two compilers at a time
		}
	}
	wg.Wait()
	for i, rec := range recs {
		if errs[i] != nil {
			return errs[i]
		}
		if err := p.add(rec, r.arch, kernels[i]); err != nil {
			return err
		}
	}
	return nil
}

// compileKernel is the whole path of one kernel; a record for a tier of
// another architecture gives nil.
func compileKernel(r *rust, rec record) (*kernel, error) {
	t, ok, err := tierOf(rec.symbol, r.arch)
	if err != nil || !ok {
		return nil, err
	}
	object, listing, err := r.compile(rec.symbol, t)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(listing)
	if err != nil {
		return nil, err
	}
	k := &kernel{symbol: rec.symbol, tier: t, list: instructions(string(text), rec.symbol)}
	if k.code, k.text, err = link(object, rec.symbol, r.arch); err != nil {
		return nil, err
	}
	if err := checkListing(k, r.arch); err != nil {
		return nil, err
	}
	if r.arch == "amd64" {
		return k, prologue(k)
	}
	return k, nil
}

// tierOf reads the tier off the end of a kernel's name.
func tierOf(symbol, arch string) (t tier, ok bool, err error) {
	suffix := symbol[strings.LastIndexByte(symbol, '_')+1:]
	for _, a := range sortedKeys(tiers) {
		for _, t := range tiers[a] {
			if t.name == suffix {
				return t, a == arch, nil
			}
		}
	}
	return t, false, refuse(symbol, "unknown tier", "the name must end in _sse42, _avx2, _vclmul, _avx512 or _neon")
}

// add files a kernel under its family and checks that all tiers agree on the
// signature.
func (p *pkg) add(rec record, arch string, k *kernel) error {
	snake := rec.symbol[:strings.LastIndexByte(rec.symbol, '_')]
	f := p.family(snake)
	if f == nil {
		f = &family{
			snake: snake,
			name:  lowerCamel(snake),
			mode:  rec.mode,
			args:  rec.args,
			rets:  rec.rets,
			tiers: map[string][]*kernel{},
		}
		p.families = append(p.families, f)
		sort.Slice(p.families, func(i, j int) bool { return p.families[i].snake < p.families[j].snake })
	}
	if fmt.Sprint(f.mode, f.args, f.rets) != fmt.Sprint(rec.mode, rec.args, rec.rets) {
		return refuse(rec.symbol, "signature differs between tiers",
			fmt.Sprint(rec.args, " -> ", rec.rets, " here, ", f.args, " -> ", f.rets, " elsewhere"))
	}
	if k != nil {
		f.tiers[arch] = append(f.tiers[arch], k)
		sort.Slice(f.tiers[arch], func(i, j int) bool {
			return f.tiers[arch][i].tier.level < f.tiers[arch][j].tier.level
		})
	}
	return nil
}

func (p *pkg) family(snake string) *family {
	for _, f := range p.families {
		if f.snake == snake {
			return f
		}
	}
	return nil
}
