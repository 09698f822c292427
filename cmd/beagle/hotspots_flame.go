package main

import (
	"context"
	"errors"

	"github.com/beagle-go/beagle/internal/hotspots"
)

func (j *hotspotJob) flame(ctx context.Context, t *hotspots.Table) error { return errors.New("tbd") }
