package web

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Credentials returns the keys and tokens of a request, wherever senders and people put them, and
// among them the password that a browser sends. key says whether one is not the password.
func Credentials(r *http.Request) (all []string, key bool) {
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

// Holds reports whether a token is among credentials.
func Holds(credentials []string, token string) bool {
	for _, one := range credentials {
		if subtle.ConstantTimeCompare([]byte(one), []byte(token)) == 1 {
			return true
		}
	}
	return false
}

// Refuse answers as Datadog's API does: 403 for a wrong key, 401 for none. A wrong password counts
// as none, since a browser asks for another only at 401. what names the missing key; browsers show
// the realm.
func Refuse(w http.ResponseWriter, r *http.Request, what, realm string) {
	if _, key := Credentials(r); key {
		Fail(w, http.StatusForbidden, fmt.Errorf("the %s is not known here; give another", what))
		return
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="`+realm+`"`)
	Fail(w, http.StatusUnauthorized,
		fmt.Errorf("the %s is missing, or the password wrong; send it as DD-API-KEY, bearer token or password", what))
}

// Realm is the text that browsers show when they ask for a token.
const Realm = "metricsd, the token as password"

// Guard admits callers with the token; without a token, all callers.
func Guard(token string) func(http.HandlerFunc) http.Handler {
	return func(h http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if all, _ := Credentials(r); token != "" && !Holds(all, token) {
				Refuse(w, r, "token", Realm)
				return
			}
			h(w, r)
		})
	}
}

// LoopbackOnly admits callers on this machine, over loopback.
func LoopbackOnly(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		if address, err := netip.ParseAddr(host); err != nil || !address.Unmap().IsLoopback() {
			Fail(w, http.StatusForbidden, errors.New("there is no token: ask from this machine, or have one set"))
			return
		}
		h(w, r)
	})
}

// Fail answers with an error in the form of Datadog's API.
func Fail(w http.ResponseWriter, status int, err error) {
	JSON(w, status, map[string][]string{"errors": {err.Error()}})
}
