package intake

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOneRuleOfRefusal sends each request with a wrong key, with none and with a wrong password.
func TestOneRuleOfRefusal(t *testing.T) {
	basic := httptest.NewRequest("GET", "/", nil)
	basic.SetBasicAuth("anybody", unknownKey)
	password := basic.Header.Get("Authorization")
	refused := map[string]struct {
		query, header, value string
		want                 int
	}{
		"nothing":           {want: http.StatusUnauthorized},
		"a wrong password":  {header: "Authorization", value: password, want: http.StatusUnauthorized},
		"an empty key":      {header: "DD-API-KEY", want: http.StatusUnauthorized},
		"a wrong key":       {header: "DD-API-KEY", value: unknownKey, want: http.StatusForbidden},
		"a wrong bearer":    {header: "Authorization", value: "Bearer " + unknownKey, want: http.StatusForbidden},
		"a key in the path": {query: "?api_key=" + unknownKey, want: http.StatusForbidden},
	}
	for who, o := range map[string]Options{"customers": twoCustomers(t), "one token": {Token: operatorToken}} {
		r := start(t, t.TempDir(), o)
		for _, request := range [][2]string{{"POST", "/api/v1/series"}, {"POST", "/api/v2/series"},
			{"POST", "/api/beta/sketches"}, {"POST", "/intake/"}, {"GET", "/api/v1/validate"}, {"GET", "/"},
			{"GET", "/api/overview"}, {"GET", "/api/names"}, {"GET", "/debug/pprof/cmdline"}} {
			for what, c := range refused {
				asked, _ := http.NewRequest(request[0], r.url+request[1]+c.query, nil)
				if c.header != "" {
					asked.Header.Set(c.header, c.value)
				}
				answer, err := http.DefaultClient.Do(asked)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				challenge := answer.Header.Get("WWW-Authenticate") != "" // makes a browser ask for a password
				if answer.StatusCode != c.want || challenge != (c.want == http.StatusUnauthorized) {
					t.Errorf("%s, %s with %s: %s, want %d; a challenge %v", who, request, what, answer.Status, c.want,
						challenge)
				}
			}
		}
	}
}
