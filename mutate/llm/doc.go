// Package llm is the mutator that asks language models: which models there
// are and what they cost, how a request is sent, recorded and replayed, what a
// prompt says, and how a reply becomes a candidate's text.
//
// It knows nothing of runs, stores and the search. Three things hold
// everywhere in it: a key is sent to its model's server and is in no text,
// file or error; no call is made whose worst case does not fit the budget; and
// a reply is only data, read in linear time whatever it holds.
package llm
