package flow

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

// spelled calls the original with records, and returns each call written in Go. It leaves out calls
// that panic.
func spelled(ctx context.Context, l *lab, records []beagle.Record) (*rt.SpellReply, error) {
	bin, err := l.buildWithOriginal(ctx, harness.Link{})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	return spelledBy(ctx, l, bin, records)
}

// spelledBy does what spelled does, with a program that has the original.
func spelledBy(
	ctx context.Context, l *lab, bin *harness.Binary, records []beagle.Record,
) (*rt.SpellReply, error) {
	path := filepath.Join(l.dir, "spell")
	if err := harness.WriteRecords(path, records); err != nil {
		return nil, err
	}
	var reply rt.SpellReply
	exit, err := bin.Run(ctx, l.box, &rt.Request{Spell: &rt.Spell{Records: "spell"}}, &reply, harness.RunOptions{
		CPU:   -1,
		Files: map[string]string{"spell": path},
	})
	if err == nil && exit != nil {
		err = fmt.Errorf("writing calls of the original in Go: %v", exit)
	}
	return &reply, err
}
