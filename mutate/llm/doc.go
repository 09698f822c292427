// Package llm is the mutator that asks language models. It knows models and their prices. It sends,
// records and replays requests, writes prompts, and turns a reply into a candidate's text.
//
// The package does not know runs, stores or the search. Three things hold throughout. A key goes to
// its model's server, and stands in no text, file or error. The client makes no call whose worst
// case does not fit the budget. A reply is only data, and reading it takes linear time whatever it
// holds.
package llm
