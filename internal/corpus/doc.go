// Package corpus finds out what a target receives. It records the calls that the package's own
// tests, benchmarks, examples and fuzz seeds make, reads recorded calls from JSON lines, and adds
// inputs that are made from the types. It divides all of them into a part that the search may see
// and a part that it may not, and describes them as facets.
//
// It cannot tell how often production makes a call. Shares within one run of tests are taken as
// they are, within one run of benchmarks roughly (they depend on the machine). Between runs, which
// say nothing of each other, each counts as much as it has distinct inputs, and benchmarks together
// at least as much as tests.
package corpus
