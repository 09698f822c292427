package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestMistakes: a mistake in the file is named with its line, and with what to do.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"services: {a: {cores: x}}":                          "service a",
		"services:\n  a:\n    prize: 3":                      "beagle.yaml:3: unknown field",
		"services:\n  a: 3":                                  "beagle.yaml:2",
		"services:\n  a:\n    replicas_follow_cpu: maybe":    "yes, no or partly",
		"services:\n  a:\n    replicas_follow_cpu: partly":   "fraction",
		"services:\n  a:\n    fraction: 0.5":                 "only with",
		"services:\n  a:\n    cores: 1\n    utilisation: 60": "beagle.yaml:4: utilisation",
		"services:\n  a:\n    replicas: -1":                  "negative",
		"services:\n  a:\n    least_percent: 99":             "between 0 and 50",
		"services: {a: {cores: 1}, b: {cores: 2}}":           "--service: a, b",
		"services: [": "beagle.yaml",
		"services:\n  a:\n    replicas_follow_cpu: [yes, partly]": "service a",
	} {
		_, _, err := Parse("beagle.yaml", []byte(text), "")
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.Remedy == "" {
			t.Errorf("%q: %v, want %q and a remedy", text, err, want)
		}
	}
}

// TestService: a service is found by its name, or alone; other parts of the
// file are for others.
func TestService(t *testing.T) {
	text := "services:\n  intake:\n    price: 0.05EUR\n    replicas_follow_cpu: no\n    cores: 8\n    toto: models\n" +
		"guardrails: [1]\n"
	s, name, err := Parse("beagle.yaml", []byte(text), "")
	if err != nil || name != "intake" || s.Follow != "no" || s.Toto != "models" {
		t.Fatalf("%+v %q %v", s, name, err)
	}
	m, err := s.Money(name)
	if err != nil || m.Price.Currency != "EUR" || m.Cores != 8 || m.Follows != "no" {
		t.Errorf("%+v %v", m, err)
	}
	_, _, err = Parse("beagle.yaml", []byte(text), "shop")
	if err == nil || !strings.Contains(err.Error(), "it has intake") {
		t.Error(err)
	}
	if s, _, err := Parse("beagle.yaml", []byte("guardrails: [1]"), ""); s != nil || err != nil {
		t.Errorf("a file without services: %+v %v", s, err)
	}
	file := filepath.Join(t.TempDir(), Name)
	if s, _, err := Read(file, "", false); s != nil || err != nil {
		t.Errorf("no file: %+v %v", s, err)
	}
	if _, _, err := Read(file, "", true); err == nil {
		t.Error("no file, and it was named")
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if s, _, err := Read(file, "intake", true); s == nil || err != nil {
		t.Errorf("%+v %v", s, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("services: {a: {cores: 1, price: aws/c7g}}")
	f.Fuzz(func(t *testing.T, text string) {
		s, name, err := Parse("beagle.yaml", []byte(text), "")
		var bad *beagle.UsageError
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("%v is no usage error", err)
		}
		if err != nil || s == nil {
			return
		}
		if _, err := s.Money(name); err != nil && !errors.As(err, &bad) {
			t.Errorf("%v is no usage error", err)
		}
	})
}
