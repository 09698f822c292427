// Package coder lets a coding agent write a version of the target. The agent is the
// user's own program and speaks the Agent Client Protocol (agentclientprotocol.com)
// over its standard input and output; most common agents do.
//
// The agent works in a throw-away copy of the module, with the evidence as a file and Beagle's own
// tools as an MCP server. Its words count for nothing: when its turn ends Beagle reads the target
// from the copy, and judges that text as any other candidate.
//
// Edits outside the target's scope are refused with the place: another file, a declaration that
// others use too, a file added or removed. Files below .beagle do not count.
//
// # Limits
//
// Time is enforced: at the end of a turn, or of its limit, Beagle kills the agent's process group
// and, on Linux, every process that inherited its environment. Money is enforced as far as the
// agent reports its spending, by the protocol's usage updates; time alone bounds an agent that
// reports none. Beagle books tokens when a turn ends, if the agent counts them: it sets part of the
// budget aside before a turn, and a turn can use more. It ignores impossible amounts and counts. A
// turn that failed is booked like any other: its error states its cost. Beagle shows and keeps the
// agent's standard error without keys and control characters. The agent runs with the user's
// rights, as it does without Beagle: the sandbox is for the code that it writes, not for the agent.
package coder
