package flow

// briefly says that this process judges versions briefly. [Brief] sets it before the first session
// is opened, and open alone reads it, for the session's lab.
var briefly bool

// Brief makes this process judge versions briefly, see [verify.Env] and [bench.Options], and look
// up pieces of the original with a tenth of the terms; all of them take up to five seconds of
// processor time. It is for tests of whole searches.
func Brief() { briefly = true }
