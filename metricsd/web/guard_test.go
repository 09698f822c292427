package web

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestCredentials finds a key that comes as a password, and nothing else: the log gets the
// fingerprint of the first.
func TestCredentials(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.SetBasicAuth("anybody", "the-key-of-somebody")
	if got, key := Credentials(r); !slices.Equal(got, []string{"the-key-of-somebody"}) || key {
		t.Errorf("given %q, a key %v", got, key)
	}
	r.Header.Set("Authorization", "Bearer another-key")
	if got, key := Credentials(r); !slices.Equal(got, []string{"another-key"}) || !key {
		t.Errorf("given %q, a key %v", got, key)
	}
}

// TestNear has callers from this machine and from others.
func TestNear(t *testing.T) {
	for from, want := range map[string]int{
		"127.0.0.1:4000": http.StatusOK, "127.9.9.9:1": http.StatusOK, "[::1]:4000": http.StatusOK,
		"[::ffff:127.0.0.1]:1": http.StatusOK, "10.0.0.7:4000": http.StatusForbidden,
		"[fe80::1%eth0]:1": http.StatusForbidden, "0.0.0.0:1": http.StatusForbidden, "": http.StatusForbidden,
		"localhost:1": http.StatusForbidden,
	} {
		for path, token := range map[string]string{"": "", "?api_key=t": "t"} {
			mux := http.NewServeMux()
			Debug(mux, token, Guard(token))
			r := httptest.NewRequest("GET", "/debug/pprof/cmdline"+path, nil)
			r.RemoteAddr = from
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, r)
			if token != "" { // from anywhere
				if answer.Code != http.StatusOK {
					t.Errorf("from %q with the token: %d", from, answer.Code)
				}
			} else if answer.Code != want {
				t.Errorf("from %q without a token: %d, want %d", from, answer.Code, want)
			}
		}
	}
}
