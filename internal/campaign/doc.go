// Package campaign decides the next step of a campaign over the hot spots of a service, and sums up
// the savings of its improvements. It is pure: no clock, no files, no I/O.
//
// # The sum
//
// An improvement of a function saves a part of the time below it: its share of the service times
// 1 - 1/ratio. Each of these is uncertain, and [Sum] draws them (Monte Carlo, 4,000 draws):
//
//   - the share: from the number of samples in the profile, as a binomial count
//   - the ratio: log-normal, of the measurement and of the second one, beside the winner's steps,
//     both as they were measured: a correction for having tried many keeps a claim true, and would
//     make a prediction too low. Where they differ beyond their intervals, the interval allows a
//     third ratio to differ as much again. Without a second one, the corrected ratio stands alone
//   - the function's part of the benchmark: where a benchmark's whole loop was timed, the gain is
//     divided by the share of the loop that its profile finds below the function, a binomial count
//   - the benchmark: time that the benchmark spends unlike production gains anything between
//     nothing and twice what was measured, but at most all of it, and as much less: nothing says
//     whether production gains less there or more. The similarity's interval says how much is
//     unlike.
//     Without a benchmark that was compared, this part is missing, and a note says so.
//
// Nothing counts twice. The saving of a callee is subtracted from that of its caller.
//
// # What is next
//
// A campaign takes up targets by their possible saving. When an improvement brings a function below
// the least share, its cost is no longer worth a change, and the caller that pays for most of it is
// next ([State.Escalate]).
package campaign
