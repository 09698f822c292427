// Package probe captures calls of chosen functions in a running service. It is linked into the
// service, by `beagle build` or by an import, and does nothing until a controller arms it.
//
// A function that takes part asks its gate first:
//
//	type normalizeArgs struct{ Tag string }
//	type normalizeResults struct{ R0 string }
//
//	var normalizeSite probe.Site
//
//	func init() {
//		probe.Register[normalizeArgs, normalizeResults](&normalizeSite, "example.com/p.Normalize")
//	}
//
//	func Normalize(tag string) string {
//		if normalizeSite.Gate() {
//			call := probe.Enter(&normalizeSite, &normalizeArgs{tag})
//			defer call.End()
//		}
//		...
//	}
//
// Gate is one load and one branch while the probe is off. [Listen] opens the door for a controller
// on a Unix socket, package probehttp makes an HTTP handler of it.
//
// # What it never does
//
//   - It never blocks: a call that finds the ring full, or another goroutine at work, records
//     nothing and adds to a counter.
//   - It never panics into the service, and never keeps a reference to what it has seen.
//   - It never reads maps, and never follows pointers, unless the controller asks for that: memory
//     behind them may be written at the same time. A concurrent write to a map that is read ends
//     the process, and no code can prevent that.
//   - It never lets text out unless both the process and the controller ask for raw values. Names,
//     types and patterns of secrets are left out even then, before anything is written.
//
// # When it ends
//
// A session ends when its time to live is over, when its calls are captured, when its controller
// says so, or when the controller's heartbeat stays away for eight seconds.
package probe
