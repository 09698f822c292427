// Package pilot runs an experiment on live processes: it lets the arms take turns, asks for what
// they did, has package rollout decide, and keeps the state in a file. When it ends, for whatever
// reason, the processes go back to the original within ten seconds.
package pilot
