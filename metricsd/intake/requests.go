package intake

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"

	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// A sender that must retry, or got no answer, repeats its request. All or a part of it may be in
// the queue already. The processor counts each ID once; this file assigns the IDs.
//
// A sender that repeats an Idempotency-Key with the same body repeats the request. A body of
// Datadog's own agent is identified by its content: it has each context once in each ten seconds,
// so no two are equal. Other senders may post the same body twice and mean it. Their body counts as
// a repetition only if an equal one was not acknowledged, which only this process knows.

// keyHeader is the header that `metricsd agent` sends; the agent keeps it with the payload on its
// disk.
const keyHeader = "Idempotency-Key"

// maxUnanswered bounds the requests whose repetition is expected.
const maxUnanswered = 4096

// unanswered holds the unacknowledged requests, by a digest of their text.
type unanswered struct {
	mu     sync.Mutex
	ids    map[wire.ID][]wire.ID
	oldest []wire.ID // digests, in the order of arrival; some may be answered since
}

// identify returns the request's ID, and a function to call if it was not acknowledged.
func (u *unanswered) identify(r *http.Request, customer string, body []byte) (id wire.ID, failed func()) {
	if customer != "" {
		customer += "\x00" // requests of two customers are never the same
	}
	if key := r.Header.Get(keyHeader); key != "" {
		return digest(customer+"key "+key, r.URL.Path, body), func() {} // two senders may have chosen the same key
	}
	content := digest(customer+"body", r.URL.Path, body)
	if strings.HasPrefix(r.UserAgent(), "datadog-agent/") {
		return content, func() {}
	}
	id = u.take(content)
	return id, func() { u.put(content, id) }
}

// digest returns a hash of the texts. Nobody can make two texts with the same one.
func digest(kind, path string, text []byte) (d wire.ID) {
	h := sha256.New()
	h.Write([]byte(kind + "\x00" + path + "\x00"))
	h.Write(text)
	copy(d[:], h.Sum(nil))
	return d
}

// take returns the ID of an unacknowledged request, or a new one.
func (u *unanswered) take(content wire.ID) (id wire.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	waiting := u.ids[content]
	if len(waiting) == 0 {
		rand.Read(id[:]) // never fails
		return id
	}
	id, waiting = waiting[0], waiting[1:]
	if u.ids[content] = waiting; len(waiting) == 0 {
		delete(u.ids, content)
	}
	return id
}

func (u *unanswered) put(content, id wire.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ids == nil {
		u.ids = map[wire.ID][]wire.ID{}
	}
	if len(u.oldest) == maxUnanswered {
		delete(u.ids, u.oldest[0])
		u.oldest = u.oldest[1:]
	}
	u.ids[content], u.oldest = append(u.ids[content], id), append(u.oldest, content)
}
