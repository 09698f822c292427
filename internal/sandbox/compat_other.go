//go:build !linux

package sandbox

import (
	"fmt"
	"runtime"
)

// Runs reports whether programs for another architecture can run as they are.
func (s *Sandbox) Runs(goarch string) bool { return goarch == runtime.GOARCH }

// checkMachine returns an error if a command for another architecture cannot run.
func (c *Command) checkMachine() error {
	if c.Machine == "" || c.Machine == runtime.GOARCH {
		return nil
	}
	return fmt.Errorf("programs of %s do not run on %s", c.Machine, runtime.GOARCH)
}
