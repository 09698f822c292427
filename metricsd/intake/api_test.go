package intake

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestTextThatNoNameHolds sends each request with text that PostgreSQL cannot hold, and with odd
// text that can be a name.
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
