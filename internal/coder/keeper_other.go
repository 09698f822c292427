//go:build !linux

package coder

// keep does nothing: without Linux's subreapers an agent's descendants are known by
// their group and their environment only.
func (p *process) keep() {}
