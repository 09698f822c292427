// Package bench measures candidates against the original, so that a sceptic
// believes the answer.
//
// # What is measured
//
// Samples are slices of 50 to 200 µs in which a variant runs over a window of
// recorded inputs (package rt has the loop). The answer is always a ratio:
// time of the original over time of the candidate.
//
// Within one process the slices of a round are paired: they saw the same inputs in the same few
// milliseconds. [Compare] takes, for each window, the median of the paired log ratios, and adds
// windows up by the time they take, so that a gain on cheap inputs cannot hide a loss on expensive
// ones. Pairs with a preempted slice are left out, or, when most are, the thread's processor clock
// is used for all of them. A window whose slices are always preempted, because a call takes longer
// than the system lets a thread run, is timed by that clock alone: it may be what takes the time.
//
// Where a slice is a single call, every record gets a window of its own, with the record's weight:
// one call of a recursion in thirty may take most of the time, and a sample of the records either
// holds it or does not.
//
// Between processes the code layout decides: the same machine code at 0 or at 32 modulo 64 differs
// by up to 40 %. So [Confirm] links the same code in 10 to 30 random layouts, each in a fresh
// process, with three or four copies of the original and of each candidate. It compares only copies
// that start at the same address modulo 64, and the copies of the original give an A/A control in
// every measurement. The unit of inference is the layout, never the slice: thousands of slices of
// one layout are one observation of the speed after a rebuild.
//
// Versions in one process share a heap, caches and a collector, and one could slow the other down.
// So copies of both are also timed in processes of their own. These take turns of a few
// milliseconds by the clock: they meet the same state of the machine and nothing of each other. One
// process after the other left an error of 5 %, which refused one true gain in ten.
//
// # When a candidate is called faster
//
// After 10, 20 and 30 layouts two questions decide: does the signed-rank test show that they favour
// the candidate more than chance does, and does the interval exclude no gain? The looks and the
// finalists share the risk of a false win, 1 in 200. If four or more finalists share it, all of 10
// layouts agree by chance too often, so the first look has 11. It has more where many versions were
// tried, 12 of 60: the rank test then bears an interval that holds for all of them. A candidate
// that was faster in all layouts so far gets the layouts that its look lacks even after the time is
// over. If the time is too short for a further look, the worst finalists rest. A candidate that
// passes is surely faster, if only by little. While there is time and no open candidate needs it,
// it gets the layouts of the further looks too, until the low end of its interval keeps 85 % of its
// gain. It must then repeat the gain on held-out and freshly drawn inputs, at both alignments, in
// processes of its own and with profile-guided optimisation, and gain as much as the user wants
// ([Options].MinGain). [Confirm] gives up a candidate early once a gain above 1 % is excluded.
// [Rates] has the measured errors of this rule. More layouts only add doubts: they call nothing
// faster that the looks did not.
//
// # The methods and their sources
//
//   - Standard error of a median: Price and Bonett, Estimating the variance of
//     the sample median, J. Statist. Comput. Simul. 68 (2001). It needs no
//     distribution, and heavy tails do not hurt it.
//   - Location over layouts: the Hodges-Lehmann estimate with the interval
//     that inverts Wilcoxon's signed-rank test (Hodges and Lehmann, Ann. Math.
//     Stat. 34, 1963; Hollander and Wolfe, Nonparametric Statistical Methods,
//     section 3.2). It is exact for any symmetric noise; log ratios of
//     exchangeable layouts are symmetric. One layout that was disturbed does not
//     widen it, as it does Student's, which serves where there are too few for the
//     test. The test is exact for copies of the same code, since their places are
//     drawn.
//   - Error of the slices: the spread of the layouts holds it, and the rank test needs no more. Of
//     fewer than six layouts an interval is at least as wide as their slices make it. A layout
//     compares pairs of copies, and each copy is in several pairs. So the error of their mean
//     shrinks with the number of copies of either side, and not with that of pairs. Alignments
//     share no copies: their errors are independent. The median over layouts counts, since a few
//     disturbed layouts claim ten times as much.
//   - Several looks: Bonferroni's bound on their risks, which needs no model of
//     how they depend on each other (Jennison and Turnbull, Group Sequential
//     Methods, 1999, has sharper ones). A gain that is found at an early look is
//     estimated a little too high, because a lucky one is found earlier. Where that
//     may be much of the gain, more layouts are measured.
//   - Successive halving: Karnin, Koren and Somekh, Almost Optimal Exploration
//     in Multi-Armed Bandits (2013). Each stage is a fresh process.
//   - Winner's curse: finalists are chosen on the screening sample and estimated on the confirming
//     one, which no choice has seen. The choice among the finalists remains: [Correct] takes the
//     largest bias that it can cause (Blom's approximation of the expected maximum of normal
//     variables, 1958) from the point, and widens the interval to hold for everything that was
//     tried at once, and for the finalists at every look (Šidák, 1967).
//   - Preemption noise, slice lengths, shared iteration counts, layouts: our
//     own measurements, docs/measurements.md.
//
// # Limits
//
// Only one thread is timed, so contention is not. Collections run between slices; their cost for a
// service is estimated from the bytes allocated ([beagle.Resources].GC) and only counts against a
// candidate. Copies are aligned at the function's entry: a rewrite that moves a loop inside a
// function changes the loop's own alignment, which random layouts cannot average out. A gain below
// 5 % on a tight loop deserves that doubt. The same holds for a frame: the compiler places
// variables by their names where nothing else decides, and another order alone was 1 % faster. That
// gain is true of the version as it is written, and a rename may lose it. If one call of the
// original fills a slice, a version that needs less than 5 µs goes over the same input several
// times, and its branches are learned from the second pass on. Such a version is at least ten times
// as fast, and looks a little faster than it is.
package bench
