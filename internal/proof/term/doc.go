// Package term holds bit-vector terms: the results of a piece of code as expressions over its
// inputs.
//
// A [Pool] makes terms and makes each only once, so that two terms are equal
// when their pointers are. Its methods fold as they build: constants, bounds,
// sums as sorted linear forms, words as concatenations of their parts. A term
// over a single variable of at most eight bits becomes a [Map], a table of its
// values, so that a table, a switch and a chain of comparisons over one byte
// are the same term.
//
// Terms have 1 to 64 bits. A term of one bit is a truth value.
//
// [Eval] computes terms, and [Write] prints them for a solver (SMT-LIB). The
// package knows nothing of Go programs and nothing of solvers.
package term
