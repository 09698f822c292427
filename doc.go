// Package beagle holds the nouns of Beagle: plain data, immutable once shared,
// standard library only, no I/O. Their JSON form is their contract.
//
// They flow in this order: a [Target] is a function that may change; a
// [Corpus] is what it really receives; a [Candidate] is another version of
// it; a [Verdict] is everything that is known of a candidate; a [Patch] is
// what a maintainer is asked to merge.
package beagle
