// Package effects computes what a function does with memory that it did not make: what it writes,
// what it keeps, where its results lead, and whose code it runs.
//
// A [Program] analyses functions in the form of golang.org/x/tools/go/ssa. It tracks where each
// reference may have come from: memory made in this call, memory of a parameter, or memory that
// outlives the call. Facts flow through assignments, calls and closures until nothing changes. The
// analysis ignores the order of statements, so every doubt counts as "may".
//
// Functions of the standard library come from a [Table]. The same analysis derives the table from a
// toolchain's source (see the directory gen). A function without a body and without a line in the
// table is opaque: it may write and keep whatever it receives.
package effects
