package main

// noopGo is the kernel's reference.
func noopGo(b []byte) int { return len(b) }
