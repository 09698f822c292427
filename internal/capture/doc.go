// Package capture is the controller of probes: it arms them in running processes, renews their
// leases, asks them questions, and makes a Corpus of the calls that they captured. The probes
// themselves are module probe.
package capture
