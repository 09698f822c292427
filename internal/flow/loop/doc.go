// Package loop is the one loop of a search. It decides what happens next: when
// models are asked, what a generation is made of, how long the rules wait for
// replies, and when the search ends. An [Engine] carries its decisions out: in
// this process (package local), or as the steps of a workflow (package
// temporal).
//
// The loop reads no clock, starts no goroutine and does no I/O of its own. What
// it does follows from what its engine tells it, so that a workflow may run it.
package loop
