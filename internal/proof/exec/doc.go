// Package exec runs Go functions on symbols: it turns the SSA form of a
// function into terms over its arguments.
//
// Lengths are constants. [Inputs] makes arguments of one shape, with a variable for each integer.
// [Run] answers with outcomes: the condition of each, its results, the final state of the
// arguments, or that it panics. Paths that meet again at the same place, with the same positions
// and lengths, become one.
//
// Code that the package does not understand becomes an outcome too, with its condition and the
// reason: maps, channels, goroutines, floating point, unsafe pointers, unknown calls, memory whose
// size is no constant. The caller shows that the condition cannot hold, or says that nothing is
// known.
package exec
