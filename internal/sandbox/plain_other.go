//go:build !unix

package sandbox

import "os/exec"

// killGroup has no process groups to use here; the command itself is killed.
func killGroup(*exec.Cmd) {}
