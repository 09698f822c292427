// Package similarity says how alike two profiles of one function are, and how sure that is.
//
// A [Shape] says how a function's time divides among its callees, or among its lines. Two shapes
// are alike by 1 minus their total variation distance: the share of the time that lies at the same
// place in both.
//
// # Why the plain distance will not do
//
// Profiles are samples. Two profiles of the same program differ by chance, and every such
// difference adds to the distance, since it takes absolute values: 400 samples over ten callees
// are 0.92 alike to another 400 samples of the same program. A demand of 0.98 would then ask for
// long profiles and not for a good benchmark.
//
// [Compare] corrects for that. It supposes that the true shapes lie on the line between "no
// difference" and the observed difference, and goes on beyond that. For each point of the line it
// draws profiles of the same sizes. The estimate is the point whose profiles differ as much as
// observed in the mean. The interval holds the points that the observed distance does not
// contradict at 95 %. The estimate errs to the side of unlike, by up to two points at 1,000
// samples: some chance differences count as true ones.
//
// The package is pure: no clock, no files, and a fixed seed.
package similarity
