package intake

import (
	"crypto/subtle"
	"errors"
	"fmt"
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

// given are the keys and tokens of a request, wherever senders and people put them, and among them
// the password that a browser sends. key says whether one is an API key, not the password.
func given(r *http.Request) (all []string, key bool) {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, password, basic := r.BasicAuth()
	if basic { // the header is then no key itself
		bearer = ""
	}
	for _, one := range []string{r.Header.Get("DD-API-KEY"), bearer, r.URL.Query().Get("api_key")} {
		if one != "" {
			all, key = append(all, one), true
		}
	}
	if password != "" {
		all = append(all, password)
	}
	return all, key
}

// caller finds out who calls; false is for nobody whom the door lets in.
func (d *door) caller(r *http.Request) (c caller, ok bool) {
	if d.token == "" {
		return caller{operator: true}, true
	}
	all, _ := given(r)
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

// deny answers as Datadog's API does: 403 for a wrong key, 401 for none. A wrong password is no key,
// since a browser asks for another at 401 only.
func (d *door) deny(w http.ResponseWriter, r *http.Request) {
	d.denied.Add(1)
	what, realm := "token", "metricsd, the token as password"
	if d.keys.Load() != nil {
		what, realm = "API key", "metricsd, the API key or the token as password"
	}
	if _, key := given(r); key {
		fail(w, http.StatusForbidden, fmt.Errorf("the %s is not known here; give another", what))
		return
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="`+realm+`"`)
	fail(w, http.StatusUnauthorized,
		fmt.Errorf("the %s is missing, or the password wrong; send it as DD-API-KEY, bearer token or password", what))
}
