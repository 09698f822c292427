// Package coder lets a coding agent write a version of the target. The agent is the
// user's own program and speaks the Agent Client Protocol (agentclientprotocol.com)
// over its standard input and output; most common agents do.
//
// The agent works in a throw-away copy of the module, with the evidence as a file
// and Beagle's own tools as an MCP server. What it says counts for nothing: when its
// turn ends the target is read from the copy, and that text is the candidate, judged
// as any other.
//
// Edits outside the target's scope are refused with the place: another file, a
// declaration that others use too, a file added or removed. What the agent left under
// .beagle does not count.
//
// # Limits
//
// Time is enforced: at the end of a turn, or of its limit, the agent's process group
// and, on Linux, every process that inherited its environment are killed. Money is
// enforced as far as the agent tells what it spends, by the protocol's usage updates;
// one that does not is bounded by time alone. Tokens are booked when a turn ends, if the
// agent counts them: part of the budget is set aside before a turn, and a turn can use
// more. Amounts and counts that cannot be are not taken. A turn that failed is booked as
// one that did not: its error says what it cost. What the agent writes to its standard
// error is shown and kept without keys and control characters. The agent runs with the
// user's rights, as it does without Beagle: the sandbox is for what it writes, not for
// the agent.
package coder
