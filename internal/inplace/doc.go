// Package inplace judges versions of functions that no record of a call can feed: those that take
// functions, interfaces, contexts or channels, or whose receivers hold such. The package's own
// tests, examples, fuzz seeds and benchmarks call the target. An overlay makes it a dispatcher
// over the original and candidates, so that one test binary holds all of them.
//
// A candidate is compared with the original in two ways. Within one call, on copies of the
// arguments, callbacks and interfaces are recorded while the original runs and answer from the
// record while the candidate runs. Where the original already differs from its own copy that way,
// only whole runs of the tests are compared. Versions of a group, whose fields differ, are programs
// of their own: see buildWhole. Times are those of slices in the user's benchmarks, in which
// original and candidate take turns.
package inplace
