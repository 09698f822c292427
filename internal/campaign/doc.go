// Package campaign decides the next step of a campaign over the hot spots of a service, and sums up
// the savings of its improvements. It is pure: no clock, no files, no I/O.
//
// # The sum
//
// An improvement of a function saves a part of the time below it: its share of the service times
// 1 - 1/ratio. Each of these is uncertain, and [Sum] draws them (Monte Carlo, 4,000 draws):
//
//   - the share: from the number of samples in the profile, as a binomial count.
//   - the ratio: log-normal. The interval of the ratio covers both measurements, as measured: the
//     first one, and the second one beside the winner's steps. (The corrected ratio is a claim that
//     must hold; as a prediction it is too low.) If the two differ by more than their intervals,
//     the interval allows a third ratio to differ as much again. Without a second measurement, the
//     corrected ratio stands alone.
//   - the function's part of the benchmark: where a benchmark's whole loop was timed, the gain is
//     divided by the share of the loop that its profile finds below the function, a binomial count.
//   - the benchmark: nothing says whether production gains less or more in time that the benchmark
//     spends unlike production. Such time may gain nothing, or up to twice the measured gain, but
//     never more than all of it. The interval of the similarity says how much time that is. Without
//     a benchmark that was compared, this part is missing, and a note says so.
//
// Nothing counts twice. The saving of a callee is subtracted from that of its caller.
//
// # What is next
//
// A campaign takes up targets by their possible saving. When an improvement brings a function below
// the least share, its cost is no longer worth a change, and the caller that pays for most of it is
// next ([State.Escalate]).
package campaign
