package intake

import (
	"net/http/httptest"
	"slices"
	"testing"
)

// TestGiven finds a key that comes as a password, and nothing else: the log has the fingerprint of
// the first.
func TestGiven(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.SetBasicAuth("anybody", "the-key-of-somebody")
	if got := given(r); !slices.Equal(got, []string{"the-key-of-somebody"}) {
		t.Errorf("given %q", got)
	}
	r.Header.Set("Authorization", "Bearer another-key")
	if got := given(r); !slices.Equal(got, []string{"another-key"}) {
		t.Errorf("given %q", got)
	}
}
