//go:build !linux

package attack

// Main does nothing: elsewhere than on Linux there are no walls to attack.
func Main() {}
