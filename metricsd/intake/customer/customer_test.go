package customer

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	one   = "4f1cd2c0a9b84b2a9d0a6c1f3e5b7d90"
	two   = "0d3b1f9c5e7a4c2d8b6f1a3e5c7d9b0f"
	three = "a-key-of-people-who-like-#signs!"
)

func digested(key string) string {
	d := sha256.Sum256([]byte(key))
	return digestMark + hex.EncodeToString(d[:])
}

func TestKeys(t *testing.T) {
	text := "# customers\n\n #acme x\nacme " + one + "  # until May\n\tacme\t" + digested(two) + "\r\ndefault " + three
	k, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{one: "acme", two: "acme", three: ""} {
		if got, ok := k.Customer(key); !ok || got != want {
			t.Errorf("%s is of %q, %v; want %q", key, got, ok, want)
		}
	}
	for _, key := range []string{"", "acme", strings.ToUpper(one), one + " ", digested(one), digested(two)} {
		if got, ok := k.Customer(key); ok {
			t.Errorf("%q opens the door of %q", key, got)
		}
	}
	if got := k.Names(); !slices.Equal(got, []string{"", "acme"}) {
		t.Errorf("customers %q", got)
	}
	if DisplayName("") != "default" || DisplayName("acme") != "acme" {
		t.Error("names are shown as others")
	}
	if name, ok := Named("default"); name != "" || !ok {
		t.Errorf("default is %q, %v", name, ok)
	}
	if f := Fingerprint(one); len(f) != 8 || f == Fingerprint(two) {
		t.Errorf("fingerprint %q", f)
	}
}

// TestWrongFiles expects the line and the remedy in each error, and no key.
func TestWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "line 1: there is no key",
		"# nothing\n":                       "line 1: there is no key",
		"acme " + one + "\nacme\n":          "line 2: it has 1 words",
		"acme " + one + " x":                "line 1: it has 3 words",
		"Acme " + one:                       "line 1: a customer's name",
		"-a " + one:                         "line 1: a customer's name",
		"a\x00b " + one:                     "line 1: a customer's name",
		strings.Repeat("a", 65) + " " + one: "line 1: a customer's name",
		"acme short":                        "line 1: the key has 5 bytes",
		"acme " + strings.Repeat("k", 201):  "line 1: the key has 201 bytes",
		"acme " + digested(one)[:70]:        "line 1: sha256: is not followed",
		"acme " + digested(one) + "00":      "line 1: sha256: is not followed",
		"acme " + one + "\n\nglobex " + one + "\n":  "line 3: the key is on a line before",
		"acme " + one + "\nglobex " + digested(one): "line 2: the key is on a line before",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		} else if strings.Contains(err.Error(), one) {
			t.Errorf("%q: the error shows the key: %v", text, err)
		}
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(file, []byte("acme short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), file+", line 1") {
		t.Errorf("a wrong file: %v", err)
	}
	os.WriteFile(file, []byte("acme "+one), 0o600)
	if k, err := Load(file); err != nil || len(k.Names()) != 1 {
		t.Errorf("%v, %v", k, err)
	}
}

// FuzzParse reads any key file. Stores and URLs take each customer's name, an error shows no key,
// and each key in clear belongs to the customer on its line.
func FuzzParse(f *testing.F) {
	f.Add([]byte("acme " + one + "\nglobex " + digested(two) + " # x\n"))
	f.Add([]byte("default " + three + "\r\n\r\n#"))
	f.Add([]byte("a 0123456789abcdef\nb 0123456789abcdef"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := Parse(text)
		if err != nil {
			if strings.Contains(string(text), one) && strings.Contains(err.Error(), one) {
				t.Errorf("the error shows a key: %v", err)
			}
			return
		}
		for _, name := range k.Names() {
			if again, ok := Named(DisplayName(name)); !ok || again != name {
				t.Errorf("%q is a customer", name)
			}
		}
		for line := range strings.Lines(string(text)) {
			words := words(line)
			if len(words) != 2 || strings.HasPrefix(words[1], digestMark) {
				continue
			}
			if got, ok := k.Customer(words[1]); !ok || DisplayName(got) != words[0] {
				t.Errorf("the key of %q opens the door of %q, %v", words[0], got, ok)
			}
		}
	})
}
