package llm

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Key is a secret. Nothing prints or encodes it.
type Key struct{ secret string }

// String returns a stand-in.
func (k Key) String() string { return "[key]" }

// Format writes the stand-in, whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { io.WriteString(s, "[key]") }

// MarshalText gives the stand-in to encoders.
func (k Key) MarshalText() ([]byte, error) { return []byte("[key]"), nil }

// Known reports whether there is a key.
func (k Key) Known() bool { return k.secret != "" }

var (
	// keyLike matches keys of the well-known providers.
	keyLike = regexp.MustCompile(
		`\b((sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_*.-]{6,}|AIza[A-Za-z0-9_-]{20,}|gh[opsur]_[A-Za-z0-9]{16,})`)
	// masked matches a key of which a server shows the ends.
	masked = regexp.MustCompile(`[^\s"',;:(){}]*\*{3,}[^\s"',;:(){}]*`)
	// bearer matches the header that carries keys.
	bearer = regexp.MustCompile(`(?i)\b(bearer|x-api-key:?)\s+[^\s"',;]+`)
)

// scrub removes the key from a text that a server wrote. It finds the key as it is, in other
// spellings, with its middle masked, and in pieces of eight bytes or more.
func (k Key) scrub(text string) string {
	if k.secret != "" {
		for _, form := range []string{k.secret, url.QueryEscape(k.secret),
			base64.StdEncoding.EncodeToString([]byte(k.secret)),
			base64.RawURLEncoding.EncodeToString([]byte(k.secret))} {
			text = strings.ReplaceAll(text, form, "[key]")
		}
		text = k.scrubPieces(text)
	}
	text = bearer.ReplaceAllString(text, "$1 [key]")
	text = masked.ReplaceAllString(text, "[key]")
	return keyLike.ReplaceAllString(text, "[key]")
}

// secretive matches names of variables that hold secrets.
var secretive = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSW|CREDENTIAL)`)

// Scrub makes the words of a program that knows our environment, such as a coding agent, fit to
// keep and show. The result has one line of moderate length, without keys and control characters,
// as for a server's words. Keys are texts that look like one, and the values of variables with a
// name like KEY.
func Scrub(words string) string {
	words = Key{}.scrub(words)
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value = strings.TrimSpace(value); len(value) >= 8 && secretive.MatchString(name) {
			words = Key{value}.scrub(words)
		}
	}
	return tidy(words)
}

// scrubPieces blanks every stretch of the text of at least eight bytes that the key contains too.
func (k Key) scrubPieces(text string) string {
	const piece = 8
	in := map[string]bool{}
	for i := 0; i+piece <= len(k.secret); i++ {
		in[k.secret[i:i+piece]] = true
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if i+piece > len(text) || !in[text[i:i+piece]] {
			b.WriteByte(text[i])
			i++
			continue
		}
		for i += piece; i < len(text) && in[text[i-piece+1:i+1]]; i++ {
		}
		b.WriteString("[key]")
	}
	return b.String()
}

// Keys finds the keys of models. A model at its provider's own address must have one, and any other
// may do without. A key goes to its model's server only: nothing sends the provider's own key to
// another address.
type Keys interface {
	Key(Model) (Key, error)
}

// EnvKeys takes keys from the environment. The variable is BEAGLE_KEY_ and the model's name in
// capitals, with "_" for every other sign. A model at its provider's own address may use
// OPENAI_API_KEY or ANTHROPIC_API_KEY too.
func EnvKeys() Keys { return lookup(os.Getenv) }

// lookup finds keys by the names of variables.
type lookup func(name string) string

// Key looks for the model's own variable, then for its provider's.
func (get lookup) Key(m Model) (Key, error) {
	own := keyVariable(m.Name)
	for _, name := range []string{own, m.KeyEnv} {
		if name == "" || name == homes[m.Provider].env && !m.AtHome() {
			continue
		}
		if v := strings.TrimSpace(get(name)); v != "" {
			return newKey(v, "the variable "+name)
		}
	}
	if m.AtHome() {
		return Key{}, &Error{Kind: BadKey, Model: m.Name, Message: "there is no key for it",
			Remedy: fmt.Sprintf("set %s or %s, or give --key-file", homes[m.Provider].env, own)}
	}
	return Key{}, nil
}

// newKey refuses text that cannot be a key, because it would break up a header.
func newKey(v, where string) (Key, error) {
	if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Key{},
			usage(where+" does not hold a key: there are spaces or control characters in it",
				"Set it to the key alone.")
	}
	return Key{v}, nil
}

const maxKeyFile = 64 << 10

// FileKeys takes keys from a file that only its owner may read. The file holds lines of NAME=key,
// with the names that [EnvKeys] looks for, or one bare key. For names that the file lacks, it looks
// in the environment.
//
// A bare key is for one server. If the models stand at several servers, nothing says whose key it
// is, and FileKeys returns an error. The key goes to no other server.
func FileKeys(path string, asked ...Model) (Keys, error) {
	data, err := readOwnerOnly(path)
	if err != nil {
		return nil, err
	}
	// Read the lines: a name with its key, or one bare key and no other line.
	k := &fileKeys{path: path, byName: map[string]string{}}
	n := 0
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		n++
		line := strings.TrimSpace(strings.TrimPrefix(s.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		switch {
		case ok && variable.MatchString(name):
			k.byName[name] = strings.Trim(strings.TrimSpace(value), `"'`)
		case k.bare == "" && len(k.byName) == 0:
			k.bare = line
		default:
			return nil,
				usage(fmt.Sprintf("key file %s:%d is neither NAME=key nor a comment", path, n),
					"Write lines like OPENAI_API_KEY=…, or one key alone.")
		}
	}
	if k.bare == "" && len(k.byName) == 0 {
		return nil,
			usage(fmt.Sprintf("key file %s holds no key", path), "Write lines like OPENAI_API_KEY=…, or one key alone.")
	}
	// See whose key a bare one is.
	return k, k.claim(asked)
}

// claim finds the one server that a bare key is for.
func (k *fileKeys) claim(asked []Model) error {
	if k.bare == "" || len(asked) == 0 {
		return nil
	}
	k.server = asked[0].URL
	if !slices.ContainsFunc(asked, func(m Model) bool { return m.URL != k.server }) {
		return nil
	}
	var lines []string
	for _, m := range asked {
		line := fmt.Sprintf("%s=… for %s", m.KeyEnv, m.URL)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return usage(
		fmt.Sprintf("key file %s holds one bare key, and the models are at several servers: name the key's "+
			"server", k.path),
		"Write a line for each server that wants one: "+strings.Join(lines, "; ")+".")
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readOwnerOnly reads a small regular file that only its owner can read.
func readOwnerOnly(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("key file %s: %v", path, err), "Give the path of a file that you can read.")
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("key file: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return nil,
			usage(fmt.Sprintf("key file %s is not a small regular file", path), "Write the key into a file of its own.")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil,
			usage(fmt.Sprintf("key file %s can be read by others (mode %04o)", path, info.Mode().Perm()),
				fmt.Sprintf("Run: chmod 600 %s", path))
	}
	return io.ReadAll(io.LimitReader(f, maxKeyFile))
}

type fileKeys struct {
	path   string
	byName map[string]string
	bare   string

	mu     sync.Mutex
	server string // the server of the bare key: that of all models to ask, or the first one that asked
}

// Key looks in the file, then in the environment.
func (k *fileKeys) Key(m Model) (Key, error) {
	if k.bare == "" {
		return lookup(func(name string) string {
			if v, ok := k.byName[name]; ok {
				return v
			}
			return os.Getenv(name)
		}).Key(m)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server == "" {
		k.server = m.URL
	}
	if k.server != m.URL {
		return Key{},
			&Error{Kind: BadKey, Model: m.Name,
				Message: fmt.Sprintf("key file %s holds one bare key, which is for %s", k.path, k.server),
				Remedy:  fmt.Sprintf("write a line for each: %s=…", m.KeyEnv)}
	}
	return newKey(k.bare, "key file "+k.path)
}
