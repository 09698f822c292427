// Package hotspots ranks the functions of a service's own code by their cost, from profiles. It
// reads no file and asks no server: profiles and facts about the checkout come in as data, a
// [beagle.Hotspots] goes out.
//
// # The three shares
//
// Flat is the time in a function's own instructions, and cum is the time in it and all of its
// callees, as every profiler has them. Neither tells how much a faster version may save: flat
// leaves out the runtime and library work that the function causes, and cum counts the same time
// for each function on the stack. Net gives each sample to one function only: the innermost
// function on the stack that has an entry of its own. So all net shares add up to the whole at
// most, and they can be summed to a saving.
//
// A function needs a least share to get an entry. A smaller one is folded into
// its callers, which may lift one of those over the limit.
//
// # Garbage collection
//
// The collector works on goroutines of its own, so no stack shows who caused the work. The number
// of collections follows from the bytes that are allocated. Therefore the collector's time is
// divided by allocated bytes when an allocation profile is given, else by the time spent in the
// allocator.
//
// # Weights
//
// Profiles come in groups of like instances. The cores of a group are its
// processor time over the time that was watched, times the instances that it
// stands for; a sample counts for as many cores as it stands for.
package hotspots
