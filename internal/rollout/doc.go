// Package rollout decides whether a new version of a function may go to
// production. An [Experiment] takes blocks of slice statistics and answers each
// with a decision and its cause. The package does no I/O and reads no clock. Its
// whole state is JSON, so that a controller can stop and another one can go on.
//
// # The unit of randomisation
//
// An interval is honest only over units that chance assigned to an arm. Two pods under one load are
// no such units: their noise is correlated in time, and an interval over their readings misses the
// truth far more often than it says. The unit here is the block: slices that lie side by side in
// time, one for each arm, in random order. Noise that both slices share cancels in their
// difference. A process may sum some tens of such pairs into one block before it sends it, so that
// a block lasts about a second. The lag-1 correlation of the differences shows the rest. Above 0.1
// the experiment calls itself not valid and ships nothing, unless the placebo says that the noise
// has no memory. Then the effect itself drifts, and its interval is as wide as runs of blocks ask
// (see [Drift]).
//
// The unit can also be the request: each one draws its arm by chance, and what
// all arms had in one stretch of time is a block. Within a block chance alone
// assigns the arms, whatever the load does from block to block, so the
// differences have a mean of zero when the versions are alike. Three conditions
// hold that up:
//
//   - Each request draws anew. Where an arm belongs to a user or a key, the key is
//     the unit: what sets its users apart looks like an effect that lasts. No
//     correlation between blocks shows it, and the placebo shows it at times: of
//     1,000 simulated experiments with 100 users an arm and no effect 103 ship.
//   - All arms count the same share of requests. Some of an arm with more traffic
//     are left out by chance: with unequal numbers a rare error would not be as
//     likely to show on one arm as on the other.
//   - Effects on the collector, caches and locks, which the arms of a process share, reach all of
//     them. So processor time, allocations and the heap are no metrics of requests, and a plan that
//     names them is refused.
//
// Requests that never end are missing in their arm, which is a sample-ratio mismatch.
//
// # The statistic
//
// A controller looks after every block, so a fixed-sample interval would err
// far more often than its level. The intervals here are asymptotic confidence
// sequences (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas: Time-uniform central
// limit theory and asymptotic confidence sequences, arXiv 2103.06476, eq. 9 and
// 161): they hold at all looks together. Their ends are two-sided at level
// alpha. A decision uses one end, so two success metrics together err in at
// most alpha.
//
// # The decision
//
// The rule is that of Schultzberg, Ankargren and Frånberg (Risk-aware product
// decisions in A/B tests with multiple metrics, arXiv 2402.11609): ship when a
// success metric is better and every guardrail is non-inferior. An inconclusive
// experiment never ships: an optimisation without a shown gain is only a risk.
//
// The placebo is a second copy of the original behind the same switch. Link
// order alone can move a service by several percent. The candidate must beat
// both copies. Where the two copies differ beyond doubt, it must beat them by far more
// than they differ.
//
// # Limits
//
// Effects that arms share in one process, such as the level of the heap, do not
// show in the differences of slices. The heap's growth within a slice does.
// Adjustment by a covariate from before the experiment (CUPED) is not done:
// slices have their neighbour as covariate.
package rollout
