package flow

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

// spelled has the original called with records, and everything written in Go. Calls
// that panic are left out.
func spelled(ctx context.Context, l *lab, records []beagle.Record) (*rt.SpellReply, error) {
	bin, err := l.beside(ctx, harness.Link{})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
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
