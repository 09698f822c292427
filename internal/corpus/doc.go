// Package corpus finds out what a target really receives: it records the
// calls that the package's own tests, benchmarks, examples and fuzz seeds
// make, reads recorded calls from JSON lines, adds inputs that are made from
// the types, divides all of it into what the search may see and what it may
// not, and describes it as facets.
//
// What it cannot do: tell how often production makes a call. Shares within
// one run of tests are taken as they are, within one run of benchmarks
// roughly (they depend on the machine). Between runs, which say nothing of
// each other, each counts as much as it has distinct inputs, and benchmarks
// together at least as much as tests.
package corpus
