package intake

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/customer"
)

// A caller is somebody whom the door lets in.
type caller struct {
	customer string // whose names these are; empty for the default customer
	operator bool   // has the token, or there is none: sees all customers and how the intake is
}

// given are the keys, tokens and passwords of a request, wherever senders and people put them.
func given(r *http.Request) (all []string) {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, password, basic := r.BasicAuth()
	if basic { // the header is then no key itself
		bearer = ""
	}
	for _, one := range []string{r.Header.Get("DD-API-KEY"), bearer, r.URL.Query().Get("api_key"), password} {
		if one != "" {
			all = append(all, one)
		}
	}
	return all
}

// caller finds out who calls; false is for nobody whom the door lets in.
func (d *door) caller(r *http.Request) (c caller, ok bool) {
	if d.token == "" {
		return caller{operator: true}, true
	}
	all := given(r)
	for _, one := range all {
		if subtle.ConstantTimeCompare([]byte(one), []byte(d.token)) == 1 {
			return caller{operator: true}, true
		}
	}
	keys := d.keys.Load()
	if keys == nil {
		return caller{}, false
	}
	for _, one := range all {
		if name, known := keys.Of(one); known {
			return caller{customer: name}, true
		}
	}
	d.tellUnknown(all)
	return caller{}, false
}

// tellEvery is how often unknown keys are told: one who tries many must not fill the log.
const tellEvery = 10 * time.Second

// tellUnknown tells the operator of a key that is in no line, by its fingerprint.
func (d *door) tellUnknown(all []string) {
	now, before := time.Now().Unix(), d.told.Load()
	if len(all) == 0 || now-before < int64(tellEvery/time.Second) || !d.told.CompareAndSwap(before, now) {
		return
	}
	d.log.Warn("an API key that no customer has was refused; others of the next 10 s are not told",
		"fingerprint", customer.Fingerprint(all[0]))
}

// known lets in the operator and the customers.
func (d *door) known(h func(http.ResponseWriter, *http.Request, caller)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := d.caller(r)
		if !ok {
			d.deny(w, r)
			return
		}
		h(w, r, c)
	})
}

// operators lets in who may see what belongs to no customer.
func (d *door) operators(h http.HandlerFunc) http.Handler {
	return d.known(func(w http.ResponseWriter, r *http.Request, c caller) {
		if !c.operator {
			d.denied.Add(1)
			fail(w, http.StatusForbidden, errors.New("a customer's key does not open this; give the operator's token"))
			return
		}
		h(w, r)
	})
}

// counts lets everybody see counts as long as they are not those of customers.
func (d *door) counts(h http.HandlerFunc) http.Handler {
	guarded := d.operators(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.keys.Load() == nil {
			h(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

func (d *door) deny(w http.ResponseWriter, r *http.Request) {
	d.denied.Add(1)
	what, realm := "the token is missing or wrong", "metricsd, the token as password"
	if d.keys.Load() != nil {
		what, realm = "the API key is missing or no customer's", "metricsd, the API key or the token as password"
	}
	status := http.StatusForbidden // what agents know
	if r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		status = http.StatusUnauthorized // at this a browser asks for the password
		w.Header().Set("WWW-Authenticate", `Basic realm="`+realm+`"`)
	}
	fail(w, status, errors.New(what+"; send it as DD-API-KEY, as a bearer token or as a password"))
}
