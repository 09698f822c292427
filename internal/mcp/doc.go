// Package mcp serves Beagle to coding agents over the Model Context Protocol: an agent finds hot
// functions, reads the facts about one, hands in versions and gets the verdict that any user gets.
//
// The agent is a mutator and nothing more. What it sends is a candidate's
// text, bounded in size, judged as every other; no argument of any tool makes
// the judgement weaker, since how hard is checked and measured is decided by
// whoever starts the server. What it is shown of captured values and of other
// candidates is quoted data.
//
// The package knows the protocol. What the tools do is a [Backend]'s.
package mcp
