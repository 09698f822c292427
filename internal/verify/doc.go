// Package verify judges whether a candidate behaves like the original.
//
// The judgement is a [Ladder] of checks, cheapest first, that stops at the first failure:
//
//   - parse, types and policy read the candidate and run nothing. The policy is relative: it
//     allows what the original does. Beyond that, it allows only code that cannot touch the world
//     and cannot keep anything between calls. It denies memory by default: a candidate may write
//     memory that it provably made in the same call, and memory that the original writes too (see
//     internal/effects). It may run its caller's code only as the original does. The policy also
//     refuses what a comparison here says little about: the order of a map, where memory lies, the
//     size of a word, the machine's time zone, values that are equal because their hashes are, and
//     names that differ while versions are compared;
//   - start compares the cost of the package's initialisation, which no measurement of calls sees.
//     A candidate that keeps the program from starting cannot take down other candidates in it;
//   - replay gives both versions the recorded calls and compares all that a caller can see:
//     results, errors, panics, the final state of arguments and receiver, and which memory they
//     share. It repeats and shuffles calls and makes them from several goroutines. It keeps
//     results, reads them again, and writes to them. It puts arguments into memory that cannot be
//     written, which exposes a version that writes to them and puts everything back. No goroutine
//     may outlive its call, unless the original's do;
//   - state looks for what a candidate keeps, in processes that saw no input yet. It changes the
//     content of a caller's memory between calls, and refuses results of equal calls at the same
//     place. It starts goroutines before any single call, and makes one cheap call 69,632 times;
//   - exhaust gives both versions systematic inputs: every small input over a boundary alphabet,
//     every length up to 300, and every byte value at telling places. It also tries slices that
//     share memory, a list long enough to expose recursion for each element, and the numbers that
//     solve simple equations of the constants;
//   - growth stretches recorded inputs 2 to 256 times. It refuses a candidate whose processor time
//     grows faster than the original's, and notes one that is slower there by a constant factor;
//   - machines builds both versions for 386, whose int has 32 bits, and compares them there. It
//     does the same for s390x and arm64 where qemu-user-static is installed.
//     [beagle.Assurance] lists the machines that it could not try;
//   - fuzz searches for inputs that tell the versions apart, guided by both: see below;
//   - untested refuses a candidate that changes statements which no input of any check reached in
//     either version, unless a proof covers all inputs: see below;
//   - race runs the candidate under the race detector, and writes to the arguments after each
//     call, as their owner may. It runs if the target is called from several goroutines, or if the
//     candidate starts some or has a variable that its code may change.
//
// Verify makes a counterexample small and writes it out as a Go test.
//
// A contract narrows the comparison: every check leaves out inputs that violate the contract's
// condition, and differences that it ignores pass. [Nearest] finds the widest simple contract
// under which a wrong candidate would have passed.
//
// A judgement always ends with a [beagle.Verdict]; an error means that the machinery failed. An
// input that the original itself does not survive, or on which it is too slow, is no evidence
// against a candidate: the checks leave it out and note it.
//
// # The guided search
//
// The fuzz check traces the source of both versions, and of the helpers that they share. Counting
// calls record each branch, comparison, switch, table access, narrowing conversion, and call of a
// function of two texts. A version that does not compile with the counting calls goes in without
// them, and the check says so. The search keeps an input for any of these reasons:
//
//   - it takes a branch of either version for the first time;
//   - it repeats a branch in another order of magnitude;
//   - it brings two operands to another distance or number of equal bits;
//   - it reaches another place of a table.
//
// Then it does two things:
//
//   - it looks for each operand of a comparison in the input, as a number, a length, or text in
//     several encodings, and puts the other operand there;
//   - it draws mutants, in which equal parameters stay equal half the time.
//
// The search is saturated, and ends, if 60,000 mutants in a row showed nothing new, and these are
// at least a third of all mutants. The budget bounds its processor time. Counts and the seed
// steer it, so the same search finds the same input. The check makes the input small, and counts
// the difference only if the program without tracing shows it too.
//
// Tracing does not cover comparisons inside the standard library, apart from the operands of those
// calls. TestPlanted measures the search.
//
// # Changes of what no input reaches
//
// The traced program also marks statements, so that the search tells which of them it reached. The
// two versions are aligned, function by function and list by list: what stands between two
// statements that are the same is a change. A change of which no statement was reached is looked at
// again with the records of all checks, the inputs of the solver and the whole exhaustion. The
// assurance lists statements that stay unreached. It is refused when the original's statements
// could stand there instead, since such a change belongs to no other. It is not refused if a rule
// made it: a rule vouches for its results.
//
// # Limits
//
// Testing shows differences, not their absence. A candidate may be right on every input and merely
// know the corpus by heart. If the policy does not see that, the candidate passes all checks here,
// but its speed is measured on fresh inputs, where it gains nothing. A candidate that is wrong for
// a single value of a hash of its input is found only if constants lead to that value. No check
// tries inputs larger than some hundred thousand elements. The growth check does not see the time
// that goroutines take, because it reads a thread's clock.
//
// Timing, the addresses of strings, the order of map iteration, and stack depth beyond what the
// exhaustion tries are not behaviour. The bits of NaNs are behaviour, so the checks may refuse
// honest rewrites of sums.
package verify
