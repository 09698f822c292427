//go:build !unix

package runner

import "os/exec"

// ownGroup does nothing where there are no process groups: only the command
// itself is stopped.
func ownGroup(*exec.Cmd) {}
