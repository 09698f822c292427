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
//   - state looks in processes that saw no input yet for what a candidate keeps:
//     one caller's memory gets other content between calls, results of equal
//     calls may not lie in the same place, goroutines start before any single
//     call, and one cheap call is made 69,632 times;
//   - exhaust gives both every small input over a boundary alphabet, every
//     length up to 300, every byte value at telling places, slices that lie in
//     the same memory, a list so long that recursion for each element shows,
//     and the numbers that make simple equations of the constants true;
//   - growth stretches recorded inputs 2 to 256 times. A candidate whose
//     processor time grows faster than the original's is refused; one that is
//     slower there by a factor is told;
//   - machines builds both for 386, whose int has 32 bits, and for s390x and
//     arm64 where qemu-user-static is installed, and compares them there. What
//     could not be tried stands in [beagle.Assurance];
//   - fuzz searches for inputs that tell them apart, guided by both versions:
//     see below;
//   - untested refuses a candidate that changes statements which no input of any
//     check reached in either version, unless a proof covers all inputs: see
//     below;
//   - race runs the candidate under the race detector when the target is
//     called from several goroutines, or the candidate starts some or has a
//     variable that its code may change, and writes to the arguments after each call, as their owner may.
//
// A counterexample is made small and written out as a Go test.
//
// A contract narrows what is compared: inputs for which its condition does not
// hold are left out of every check, and differences that it ignores pass. Of a
// candidate that is wrong [Nearest] finds the widest simple contract under which
// it would have passed.
//
// A candidate's end is always a [beagle.Verdict]; an error means that the
// machinery failed. Inputs that the original itself does not survive, or on
// which it is too slow, accuse nobody: they are left out and noted.
//
// # The guided search
//
// The fuzz check builds a program whose versions are traced in source: each
// branch, comparison, switch, table access, narrowing conversion and call of a
// function of two texts is counted, in the helpers that they share too. A
// version that does not compile with the counting calls goes in without, and the
// check says so. The search keeps an input when it takes a branch of either
// version for the first time, repeats it in another order of magnitude, brings
// two operands to another distance or number of equal bits, or meets another
// place of a table. Then it does two things:
//
//   - it looks for each operand in the input that was compared, as a number, a
//     length, or text in several encodings, and puts the other operand there;
//   - it draws mutants, in which equal parameters stay equal half the time.
//
// The search is saturated, and ends, when 60,000 mutants in a row showed
// nothing new, and these are at least a third of all. The budget bounds its
// processor time. Counts and the seed decide, so that the same search finds the same
// input. The input is made small, and counts only if the program without tracing
// shows the difference too.
//
// What is compared inside the standard library is not traced, apart from the
// operands of those calls. TestPlanted measures the search.
//
// # Changes of what no input reaches
//
// The traced program also marks statements, so that the search tells which of
// them it reached. The two versions are aligned, function by function and list by
// list: what stands between two statements that are the same is a change. A change
// of which no statement was reached is looked at again with the records of all
// checks, the inputs of the solver and the whole exhaustion. What is unreached
// then stands in the assurance. It is refused when the original's statements could
// stand there instead, since such a change belongs to no other. What rules have
// rewritten is not refused: a rule vouches for the form that it makes.
//
// # Limits
//
// Testing shows differences, not their absence. A candidate that is right on
// every input and merely knows the corpus by heart, in a way that the policy
// does not see, passes all checks here; that its speed is measured on fresh
// inputs is what makes it worthless. One that is wrong for a single value of a
// hash of its input is found only if the value can be computed from the
// constants. Nothing is tried that is larger than some hundred thousand elements.
// The growth of goroutines' own time is not seen: a thread's clock counts. Timing, stack depth beyond what
// the exhaustion tries, the addresses of strings and the order of map iteration
// are not behaviour; the bits of what is not a number are, and so honest
// rewrites of sums may be refused.
package verify
