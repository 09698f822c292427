package exports

import (
	"slices"
	"testing"
)

func TestDecode(t *testing.T) {
	type listed struct{ ImportPath string }
	got, err := Decode[listed]([]byte("{\n\t\"ImportPath\": \"a\"\n}\n{\"ImportPath\": \"b\", \"Dir\": \"/b\"}\n"))
	if want := []listed{{"a"}, {"b"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Decode returned %v and %v, want %v", got, err, want)
	}
	if got, err := Decode[listed](nil); err != nil || len(got) != 0 {
		t.Errorf("of no output Decode returned %v and %v", got, err)
	}
	// An output that is cut off is an error, not the end.
	if _, err := Decode[listed]([]byte("{\"ImportPath\": \"a\"}\n{\"Import")); err == nil {
		t.Error("Decode took half of an object for the end")
	}
}
