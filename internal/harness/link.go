package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// LinkerFlags returns the flags of the go command's linker that lay a program out so.
func (o Link) LinkerFlags() []string {
	flags := []string{"-s", "-w"} // they save half of a link's cost; the table for tracebacks stays
	if o.FuncAlign > 0 {
		flags = append(flags, "-funcalign="+strconv.Itoa(o.FuncAlign))
	}
	if o.Layout != 0 {
		flags = append(flags, "-randlayout="+strconv.FormatInt(int64(o.Layout&(1<<62-1)), 10))
	}
	return flags
}

// link links the program by the linker itself.
func (b *Builder) link(ctx context.Context, bin *Binary) error {
	start := time.Now()
	mode := "-buildmode=exe"
	if b.tools.pie() {
		mode = "-buildmode=pie"
	}
	args := append([]string{"-o", bin.Path, "-importcfg", bin.config, mode, "-buildid="}, bin.Link.LinkerFlags()...)
	why, err := refusal(b.tool(ctx, "link", append(args, bin.main)...))
	if err == nil && why != "" {
		err = fmt.Errorf("linking the harness: %s", why)
	}
	bin.LinkTime = time.Since(start)
	return err
}

// Relink lays the same code out anew. The profile and the race detector
// belong to compilation and must be as before.
func (b *Builder) Relink(ctx context.Context, old *Binary, o Link) (*Binary, error) {
	if o.PGO != old.Link.PGO || o.Race != old.Link.Race {
		return nil, errors.New("relinking cannot change the profile or the race detector: build again")
	}
	bin := *old
	bin.Link, bin.Prepare, bin.Compile, bin.Inspect = o, 0, 0, 0
	bin.Path = filepath.Join(old.dir, fmt.Sprintf("harness-%d-%d", o.FuncAlign, o.Layout))
	if bin.goArgs != nil {
		return &bin, b.goLink(ctx, &bin)
	}
	return &bin, b.link(ctx, &bin)
}
