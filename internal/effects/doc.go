// Package effects says what a function does with memory that it did not make:
// what it writes, what it keeps, what its results lead into, and whose code it
// runs.
//
// A [Program] analyses functions in the form of golang.org/x/tools/go/ssa. It
// tracks where each reference may have come from: memory made in this call,
// memory of a parameter, or memory that outlives the call. Facts flow through
// assignments, calls and closures until nothing changes; the order of
// statements is ignored, so that doubt always counts as "may".
//
// Functions of the standard library come from a [Table], which the same
// analysis derives from the source of a toolchain (see the directory gen).
// A function that is in neither is opaque: it may write and keep whatever it
// receives.
package effects
