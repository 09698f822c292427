package rt

// CheckSentinel is the look at errors that the original returns again and again.
const CheckSentinel = "an error that the original returns in each call, for callers to compare with; " +
	"the version's is another one that looks like it"

// maxFresh bounds the kinds of errors that are known to be made in each call.
const maxFresh = 512

// otherErrors reports whether the candidate returned other errors than the
// original did last, where the original returns the same ones in each call.
func (c *checker[A, R]) otherErrors(id int, src *A) bool {
	if c.flat || c.p[0] != nil || len(c.fresh) >= maxFresh {
		return false
	}
	wants, gots := errorsOf(&c.r[0]), errorsOf(&c.r[1])
	if len(wants) != len(gots) {
		return false
	}
	// Only errors of which nothing is known are worth another call.
	unlike := false
	for i, w := range wants {
		unlike = unlike || w.unlike(gots[i]) && !c.fresh[w.looks]
	}
	if !unlike {
		return false
	}
	a, r, p := c.a[0], c.r[0], c.p[0]
	c.run(0, id, src)
	again := errorsOf(&c.r[0])
	c.a[0], c.r[0], c.p[0] = a, r, p
	if len(again) != len(wants) {
		return false
	}
	if c.fresh == nil {
		c.fresh = map[string]bool{}
	}
	for i, w := range wants {
		if !w.unlike(gots[i]) {
			continue
		}
		if again[i].at == w.at {
			return true
		}
		c.fresh[w.looks] = true
	}
	return false
}
