// Package loop is the one loop of a search. It decides when models are asked, which candidates a
// generation holds, how long the rules wait for replies, and when the search ends. An [Engine]
// carries its decisions out: in this process (package local), or as the steps of a workflow
// (package temporal).
//
// The loop reads no clock, starts no goroutine and does no I/O of its own. Its decisions depend
// on the engine's answers only, so that a workflow may run it.
package loop
