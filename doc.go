// Package beagle holds the nouns of Beagle: plain data, immutable once shared, standard library
// only, no I/O. Their JSON form is their contract.
//
// They flow in this order: a [Target] is a function that may change; a [Corpus] holds the calls
// that it receives; a [Candidate] is another version of it; a [Verdict] holds all evidence on a
// candidate; a [Patch] is the change that a maintainer merges.
package beagle
