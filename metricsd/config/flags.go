package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// A UsageError says what is wrong with a command line.
type UsageError struct{ Command, What string }

func (e *UsageError) Error() string {
	return fmt.Sprintf("%s; %s -h lists the flags", e.What, e.Command)
}

// ParseFlags reads the flags of a command. Help that was asked for goes to a writer, and gives
// [flag.ErrHelp]. A mistake gives a [UsageError] in one line: the list of all flags would hide it.
func ParseFlags(set *flag.FlagSet, args []string, help io.Writer) error {
	show := set.Usage
	set.Usage = func() {}
	set.SetOutput(io.Discard)
	err := set.Parse(args)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, flag.ErrHelp):
		return &UsageError{set.Name(), err.Error()}
	}
	set.SetOutput(help)
	if show != nil {
		show()
	} else {
		fmt.Fprintf(help, "usage: %s [flags]\n", set.Name())
		set.PrintDefaults()
	}
	return err
}
