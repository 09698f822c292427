// Package verify judges whether a candidate behaves like the original.
//
// The judgement is a [Ladder] of checks, cheapest first, that stops at the
// first failure:
//
//   - parse, types and policy read the candidate and run nothing. The policy
//     is relative: what the original does is allowed, and beyond it only what
//     can neither touch the world nor keep anything between calls;
//   - replay gives both versions the recorded calls and compares all that a
//     caller can see: results, errors, panics, the final state of arguments
//     and receiver, and which memory they share. Calls are repeated, shuffled,
//     made from several goroutines; results are kept, read again, written to;
//   - exhaust gives both every small input over a boundary alphabet, every
//     length up to 300, every byte value at telling places;
//   - fuzz lets the standard fuzzer look for inputs that tell them apart;
//   - race runs the candidate under the race detector when the target is
//     called from several goroutines.
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
// every input and merely knows the corpus by heart (through a hash instead of
// a literal, say) passes all checks here; that its speed is measured on fresh
// inputs is what makes it worthless. Timing, stack depth, the addresses of
// strings and the order of map iteration are not behaviour.
package verify
