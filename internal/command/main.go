package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program that measures, and ends the process: with 1 and the error's text if there is
// one. The context ends when the user interrupts the program.
func Main(name string, run func(context.Context) error) {
	os.Exit(status(name, run, os.Stderr))
}

func status(name string, run func(context.Context) error, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
