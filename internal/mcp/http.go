package mcp

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxRequest bounds the body of a request over HTTP, and a line over stdio: a source with every
// byte escaped, and its envelope.
const MaxRequest = 2 << 20

// sessionTimeout ends idle sessions. A client that comes back later gets 404 and begins a new
// one, as the protocol has it.
const sessionTimeout = time.Hour

// A Door decides which clients may talk to a server over HTTP.
type Door struct {
	Token   string   // every request must carry it; never empty
	Origins []string // of web pages that may talk to it, besides those of this machine: "https://app.example"
	Hosts   []string // names in the Host header that it answers to, besides those of the loopback interface
}

// NewToken makes a token of 256 random bits.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Handler serves the protocol over streamable HTTP at every path. Requests
// without the token get 401, and those that a web page or a name that was
// bound anew (DNS rebinding) sends get 403, before anything is read.
func Handler(s *sdk.Server, d Door) http.Handler {
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
		SessionTimeout:      sessionTimeout,
		MaxRequestBodyBytes: MaxRequest, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // the door knows which names are served
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !d.host(r.Host):
			http.Error(w, "this host name is not served; see --host of 'beagle mcp'", http.StatusForbidden)
		case !d.origin(r.Header.Values("Origin")):
			http.Error(w, "this origin is not allowed; see --origin of 'beagle mcp'", http.StatusForbidden)
		case !d.token(r.Header.Values("Authorization")):
			w.Header().Set("WWW-Authenticate", `Bearer realm="beagle"`)
			http.Error(w,
				"the request must carry 'Authorization: Bearer TOKEN' with the token that 'beagle mcp' printed",
				http.StatusUnauthorized)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// host accepts the names of the loopback interface and those that were given.
func (d *Door) host(header string) bool {
	name, _, err := net.SplitHostPort(header)
	if err != nil {
		name = header
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return Loopback(name) || slices.Contains(d.Hosts, name)
}

// Loopback reports whether a host is this machine itself.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// origin accepts requests that no web page makes, those of pages that this
// machine serves, and of those that were allowed. Each still needs the token.
func (d *Door) origin(headers []string) bool {
	for _, h := range headers {
		u, err := url.Parse(h)
		if err != nil || !Loopback(u.Hostname()) && !slices.Contains(d.Origins, u.Scheme+"://"+u.Host) {
			return false
		}
	}
	return true
}

// token compares in a time that does not depend on the token that was sent.
func (d *Door) token(headers []string) bool {
	if len(headers) != 1 || d.Token == "" {
		return false
	}
	scheme, sent, _ := strings.Cut(headers[0], " ")
	got, want := sha256.Sum256([]byte(sent)), sha256.Sum256([]byte(d.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
