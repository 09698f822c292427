// Package watch looks at profiles window by window and reports changes. It does no I/O and reads no
// clock: a window goes in, findings come out, and the whole state is JSON. Profiles themselves are
// not kept. A window holds one compact row for each function.
//
// # From a shift to a finding
//
// A share of a profile is a share of samples, so its noise is known at least.
// The steps are those of FBDetect (Yu et al., FBDetect: catching tiny performance
// regressions at hyperscale through in-production monitoring, SOSP 2024):
//
//   - Change points of each function's share over the last windows, against the
//     same hour of other days where the load has a daily wave.
//   - The two-proportion interval of the change, widened by how much more windows
//     differ than samples alone would. Its end must pass the least change.
//   - The false discovery rate over all functions.
//   - Went away: the last windows must still show it.
//   - Cost shift: where a function's caller or package as a whole did not change,
//     the cost only moved between functions.
//   - All shares fall when one rises. The common factor of all functions is taken
//     out.
//
// Targets with a proven win are watched for more: see [Target].
package watch
