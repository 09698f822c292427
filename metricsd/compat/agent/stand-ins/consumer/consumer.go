// Package def stands for a module of the Agent that the Go proxy does not have.
package def

// Component is a part of a whole Agent that is not there.
type Component interface{ IsActive() bool }
