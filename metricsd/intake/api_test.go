package intake

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/index/pgtest"
)

// TestTextThatNoNameHolds asks each question with text that PostgreSQL cannot hold, and with text
// that is odd and can be a name.
func TestTextThatNoNameHolds(t *testing.T) {
	for store, open := range indexes {
		t.Run(store, func(t *testing.T) {
			r := run(t, Options{}, queues["embedded"](t, t.TempDir())(), open(t, t.TempDir())())
			for _, question := range []string{"/api/entries?name=", "/api/entries?after=", "/api/names?prefix=",
				"/api/names?contains=", "/api/names?kind=tag&contains=", "/api/entries?kind=host&after="} {
				parameter := question[strings.LastIndexAny(question, "?&")+1 : len(question)-1]
				for _, text := range []string{"a\x00b", "\x00", "\xff", "a\xc3", "\xed\xa0\x80"} {
					status, answer := r.do("GET", question+url.QueryEscape(text), nil)
					if status != http.StatusBadRequest || !strings.Contains(string(answer), parameter) {
						t.Errorf("%s%q: %d %s", question, text, status, answer)
					}
				}
				for _, text := range []string{"", "é", "\uFFFD", "\x01", "'; --", strings.Repeat("x", 5000)} {
					if status, answer := r.do("GET", question+url.QueryEscape(text), nil); status != http.StatusOK {
						t.Errorf("%s%q: %d %s", question, text, status, answer)
					}
				}
			}
			if got := r.status("GET", "/api/entries?name=%zz", nil); got != http.StatusBadRequest {
				t.Errorf("a query with a broken escape: %d", got)
			}
		})
	}
}

// TestErrorsOfTheIndexStayInside asks while PostgreSQL is away: the answer is short, and the log
// says why.
func TestErrorsOfTheIndexStayInside(t *testing.T) {
	server := pgtest.Start(t)
	x, err := index.OpenPostgres(t.Context(), server.Address)
	if err != nil {
		t.Fatal(err)
	}
	o := twoCustomers(t)
	o.Flush = time.Hour
	var log safeText
	r := runLogged(t, o, queues["embedded"](t, t.TempDir())(), x, slog.New(slog.NewTextHandler(&log, nil)))
	r.as(acmeKey, http.StatusOK, "GET", "/api/entries", nil)
	server.Kill()
	for _, path := range []string{"/api/entries", "/api/entries?name=x"} {
		text := string(r.as(acmeKey, http.StatusInternalServerError, "GET", path, nil))
		if !strings.Contains(text, errUnanswered.Error()) || strings.Contains(text, "127.0.0.1") || len(text) > 200 {
			t.Errorf("%s: a customer is told %s", path, text)
		}
	}
	if told := log.String(); strings.Count(told, "a question was not answered") != 2 ||
		!strings.Contains(told, "path=/api/entries") {
		t.Errorf("the operator is told %s", told)
	}
	server.Run() // the intake writes once more when it stops
}
