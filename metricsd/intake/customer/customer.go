// Package customer knows the customers of an intake by their API keys.
//
// The key file has a customer and a key on each line; a word that begins with # begins a comment:
//
//	acme    4f1cd2c0a9b84b2a9d0a6c1f3e5b7d90
//	acme    sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//	default 0d3b1f9c5e7a4c2d8b6f1a3e5c7d9b0f
//
// The second line has the digest of a key instead of the key, so that the file need not hold what
// opens the door. A customer may have several keys, to change from one to the next. The customer
// default is the one that there is without customers: a file that gives it a key keeps what was
// counted before.
//
// Keys are kept as digests only. Nothing that this package returns holds a key, and neither does an
// error: a [Fingerprint] names one.
package customer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Default is the name by which people call the only customer of an intake without a key file;
// programs write "".
const Default = "default"

const (
	// Most bounds the customers of a file. Each has its own directories of names and its own
	// metrics.
	Most = 10_000
	// maxKeys bounds the keys of a file.
	maxKeys = 4 * Most
	// leastKey and longestKey bound the bytes of a key. Datadog's have 32. A digest or a
	// fingerprint would reveal too much of a shorter one.
	leastKey, longestKey = 16, 200
	maxName              = 64
	maxFile              = 16 << 20
	digestMark           = "sha256:"
)

// Keys maps keys to customers. It never changes.
type Keys struct {
	of    map[[sha256.Size]byte]string
	names []string
}

// Load reads a key file.
func Load(file string) (*Keys, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("key file: %w; name a file with a customer and a key on each line", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("key file %s: %d bytes; at most %d are read", file, info.Size(), maxFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	keys, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s, %w", file, err)
	}
	return keys, nil
}

// Parse reads the text of a key file. An error names the line and never the key.
func Parse(text []byte) (*Keys, error) {
	k := &Keys{of: map[[sha256.Size]byte]string{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if err := k.add(string(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if len(k.of) == 0 {
		return nil, errors.New("line 1: there is no key; give a customer and a key on each line")
	}
	for _, name := range k.of {
		k.names = append(k.names, name)
	}
	slices.Sort(k.names)
	if k.names = slices.Compact(k.names); len(k.names) > Most {
		return nil, fmt.Errorf("line %d: there are %d customers; at most %d are kept apart", number, len(k.names), Most)
	}
	return k, nil
}

// add takes a line.
func (k *Keys) add(line string) error {
	fields := words(line)
	if len(fields) == 0 {
		return nil
	}
	if len(fields) != 2 {
		return fmt.Errorf("it has %d words; give a customer and a key", len(fields))
	}
	if !isValid(fields[0]) {
		return fmt.Errorf("a customer's name has 1 to %d lower-case letters, digits, dots, hyphens and underscores, "+
			"a letter or digit first; give one", maxName)
	}
	digest, err := digestOf(fields[1])
	if err != nil {
		return err
	}
	if _, known := k.of[digest]; known {
		return errors.New("the key is on a line before; give each customer keys of its own")
	}
	if len(k.of) == maxKeys {
		return fmt.Errorf("at most %d keys are read; take some out", maxKeys)
	}
	k.of[digest] = storedName(fields[0])
	return nil
}

// words returns those of a line up to its comment.
func words(line string) []string {
	fields := strings.Fields(line)
	if i := slices.IndexFunc(fields, func(f string) bool { return f[0] == '#' }); i >= 0 {
		fields = fields[:i]
	}
	return fields
}

// isValid reports whether a name may be a customer's: it becomes part of keys of stores, labels and
// URLs.
func isValid(name string) bool {
	for i, c := range []byte(name) {
		plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !plain && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// digestOf reads the second word of a line.
func digestOf(word string) (digest [sha256.Size]byte, err error) {
	if text, ok := strings.CutPrefix(word, digestMark); ok {
		if n, err := hex.Decode(digest[:], []byte(text[:min(len(text), 2*len(digest))])); err != nil ||
			n != len(digest) || len(text) != 2*n {
			return digest, fmt.Errorf("%s is not followed by %d hexadecimal digits; give the key's SHA-256", digestMark,
				2*len(digest))
		}
		return digest, nil
	}
	if len(word) < leastKey || len(word) > longestKey {
		return digest, fmt.Errorf("the key has %d bytes; give one of %d to %d", len(word), leastKey, longestKey)
	}
	return sha256.Sum256([]byte(word)), nil
}

// Customer returns the customer of a key; the default customer is "". It compares digests, so its
// time reveals nothing about the keys.
func (k *Keys) Customer(key string) (customer string, known bool) {
	customer, known = k.of[sha256.Sum256([]byte(key))]
	return customer, known
}

// Names returns the customers, sorted; the default customer is "".
func (k *Keys) Names() []string { return slices.Clone(k.names) }

// Fingerprint names a key in a log: eight digits of its digest, by which its owner recognises it.
func Fingerprint(key string) string {
	digest := sha256.Sum256([]byte(key))
	return hex.EncodeToString(digest[:4])
}

// DisplayName returns a customer's name as people read it.
func DisplayName(customer string) string {
	if customer == "" {
		return Default
	}
	return customer
}

// Named reads a customer's name as people write it.
func Named(name string) (customer string, ok bool) { return storedName(name), isValid(name) }

func storedName(name string) string {
	if name == Default {
		return ""
	}
	return name
}
