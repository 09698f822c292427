// Package pilot runs an experiment on live processes: it lets the arms take turns, collects their
// counts, lets package rollout decide, and keeps the state in a file. However it ends, the
// processes go back to the original within ten seconds.
package pilot
