// Package rollout lets two versions of a function take turns in a running service. It is linked in
// by `beagle build --rollout`, or by hand, and does nothing until a controller starts it.
//
// A function that takes part asks its switch first. While nothing runs that is a load and a branch:
//
//	var normalize rollout.Switch
//
//	func init() { rollout.Register(&normalize, "example.com/p.Normalize", "build 7") }
//
//	func Normalize(tag string) (out string) {
//		if normalize.On() {
//			return normalizeRouted(tag)
//		}
//		...
//	}
//
//	func normalizeRouted(tag string) (out string) {
//		c := normalize.Enter()
//		defer c.Leave()
//		switch c.Arm {
//		case rollout.Candidate:
//			out = normalizeFaster(tag)
//		case rollout.Placebo:
//			out = normalizeAgain(tag)
//		default:
//			out = normalizeOriginal(tag)
//		}
//		c.Done(false)
//		return out
//	}
//
// # Turns
//
// A turn gives each arm one slice of time, in random order. The whole process runs that arm then,
// so that its processor time, its allocations and its collector belong to that arm. The counts of
// the slices of some turns are a block, which the controller fetches.
//
// # Requests
//
// Instead, each request can draw its arm, so that all arms run side by side. The program begins its
// requests with [BeginContext], or wraps its server with package rollouthttp, and the function that
// takes part asks [Switch.EnterContext] with the context that it got, or [Switch.EnterRequest] with
// the request itself. All calls of a request get one arm. Each request draws anew, no matter who
// sent it, and all arms count the same share of requests: only then is their difference one of the
// versions. Figures of the whole process, such as its processor time, then belong to no arm.
//
// # The way back
//
// The original runs again, for good, when the candidate panics, when some calls of it give another
// result, when its share of errors is too high, when its calls do not return, or when the heap
// grows too much. It also runs when the time to live is over, when the controller stops the
// rollout, and when its heartbeat stays away for ten seconds. A call that hangs cannot be ended:
// new calls go to the original.
package rollout
