// Package mcp serves Beagle to coding agents over the Model Context Protocol: an agent finds hot
// functions, reads the facts about one, hands in versions and gets the verdict that any user gets.
//
// The agent is a mutator and nothing more. It sends a candidate's text, which is bounded in size
// and judged as any other. No argument of a tool weakens the judgement: the person who starts the
// server decides how hard Beagle checks and measures. Captured values and other candidates are
// shown to it as quoted data.
//
// The package knows the protocol. A [Backend] does the work of the tools.
package mcp
