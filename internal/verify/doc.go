// Package verify judges whether a candidate behaves like the original.
//
// The judgement is a [Ladder] of checks, cheapest first, that stops at the
// first failure:
//
//   - parse, types and policy read the candidate and run nothing. The policy
//     is relative: what the original does is allowed, and beyond it only what
//     can neither touch the world nor keep anything between calls. Memory is
//     denied by default: a candidate may write what it provably made in the
//     same call, and what the original writes too (see internal/effects). The
//     policy also refuses what a comparison here says little about: the order
//     of a map, where memory lies, the size of a word, the machine's time zone,
//     values that are equal because their hashes are, and names that are others
//     while versions are compared;
//   - start compares what the initialisation of the package costs: no
//     measurement of calls sees it. A candidate with which the program does not
//     start cannot take down those that share a program with it;
//   - replay gives both versions the recorded calls and compares all that a
//     caller can see: results, errors, panics, the final state of arguments
//     and receiver, and which memory they share. Calls are repeated, shuffled,
//     made from several goroutines; results are kept, read again, written to;
//     arguments lie in memory that cannot be written, for those that write into
//     them and put everything back; no goroutine may outlive its call, unless
//     the original's do;
//   - exhaust gives both every small input over a boundary alphabet, every
//     length up to 300, every byte value at telling places, slices that lie in
//     the same memory, a list so long that recursion for each element shows,
//     and the numbers that make simple equations of the constants true;
//   - fuzz lets the standard fuzzer look for inputs that tell them apart;
//   - race runs the candidate under the race detector when the target is
//     called from several goroutines or the candidate starts some, and writes to
//     the arguments after each call, as their owner may.
//
// A counterexample is made small and written out as a Go test.
//
// A candidate's end is always a [beagle.Verdict]; an error means that the
// machinery failed. Inputs that the original itself does not survive, or on
// which it is too slow, accuse nobody: they are left out and noted.
//
// # Limits
//
// Testing shows differences, not their absence. A candidate that is right on
// every input and merely knows the corpus by heart, in a way that the policy
// does not see, passes all checks here; that its speed is measured on fresh
// inputs is what makes it worthless. One that is wrong for a single value of a
// hash of its input is found only if the value can be computed from the
// constants. Nothing is tried on other architectures than this one, and nothing
// larger than some hundred thousand elements. Timing, stack depth beyond what
// the exhaustion tries, the addresses of strings and the order of map iteration
// are not behaviour; the bits of what is not a number are, and so honest
// rewrites of sums may be refused.
package verify
