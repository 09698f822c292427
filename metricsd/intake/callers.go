package intake

import (
	"errors"
	"net/http"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/web"
)

// A caller is a sender or reader whom the door admits.
type caller struct {
	customer string // whose names these are; empty for the default customer
	operator bool   // has the token, or there is none: sees all customers and the intake's state
}

// caller identifies the caller of a request; false if the door refuses it.
func (d *door) caller(r *http.Request) (c caller, ok bool) {
	if d.token == "" {
		return caller{operator: true}, true
	}
	all, _ := web.Credentials(r)
	if web.Holds(all, d.token) {
		return caller{operator: true}, true
	}
	keys := d.keys.Load()
	if keys == nil {
		return caller{}, false
	}
	for _, one := range all {
		if name, known := keys.Customer(one); known {
			return caller{customer: name}, true
		}
	}
	d.tellUnknown(all)
	return caller{}, false
}

// tellEvery is the time between two log lines about unknown keys: a client that tries many must
// not fill the log.
const tellEvery = 10 * time.Second

// tellUnknown logs the fingerprint of a key that is in no line.
func (d *door) tellUnknown(all []string) {
	now, before := time.Now().Unix(), d.told.Load()
	if len(all) == 0 || now-before < int64(tellEvery/time.Second) || !d.told.CompareAndSwap(before, now) {
		return
	}
	d.log.Warn("refused an unknown API key; refusals of the next 10 s are not logged",
		"fingerprint", customer.Fingerprint(all[0]))
}

// admitKnown admits the operator and the customers.
func (d *door) admitKnown(h func(http.ResponseWriter, *http.Request, caller)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := d.caller(r)
		if !ok {
			d.deny(w, r)
			return
		}
		h(w, r, c)
	})
}

// operators admits callers that may see data of no customer.
func (d *door) operators(h http.HandlerFunc) http.Handler {
	return d.admitKnown(func(w http.ResponseWriter, r *http.Request, c caller) {
		if !c.operator {
			d.denied.Add(1)
			web.Fail(w, http.StatusForbidden,
				errors.New("a customer's key does not open this; give the operator's token"))
			return
		}
		h(w, r)
	})
}

// counts shows counts to everybody unless they are a customer's.
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
	if d.keys.Load() != nil {
		web.Refuse(w, r, "API key", "metricsd, the API key or the token as password")
		return
	}
	web.Refuse(w, r, "token", web.Realm)
}
