package command

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestStatus(t *testing.T) {
	var said strings.Builder
	if got := status("field", func(context.Context) error { return nil }, &said); got != 0 || said.Len() > 0 {
		t.Errorf("a program without an error ends with %d and says %q", got, said.String())
	}
	fails := func(ctx context.Context) error { return errors.Join(ctx.Err(), errors.New("no verb")) }
	if got := status("field", fails, &said); got != 1 || said.String() != "field: no verb\n" {
		t.Errorf("a program that fails ends with %d and says %q", got, said.String())
	}
}
