package temporal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// Variables of the environment for a server with authentication, by the names of Temporal's own
// tools.
const (
	keyVariable  = "TEMPORAL_API_KEY"
	caVariable   = "TEMPORAL_TLS_SERVER_CA_CERT_PATH"
	certVariable = "TEMPORAL_TLS_CLIENT_CERT_PATH"
	pkeyVariable = "TEMPORAL_TLS_CLIENT_KEY_PATH"
	tlsVariable  = "TEMPORAL_TLS"
)

// Dial connects to a server. An address where none answers is a
// [beagle.UsageError].
func Dial(ctx context.Context, s fleet.Server) (client.Client, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	o := client.Options{HostPort: s.Address, Namespace: s.Namespace, Logger: quietLog()}
	security, err := transport()
	if err != nil {
		return nil, err
	}
	o.ConnectionOptions.TLS = security
	o.ConnectionOptions.GetSystemInfoTimeout = 5 * time.Second
	if key := os.Getenv(keyVariable); key != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("no Temporal server answers at %s: %v", s.Address, err),
			Remedy: "start one, or correct --temporal (docs/fleet.md)",
		}
	}
	return c, nil
}

// transport returns the encryption that the environment asks for; nil means none.
func transport() (*tls.Config, error) {
	ca, cert, key := os.Getenv(caVariable), os.Getenv(certVariable), os.Getenv(pkeyVariable)
	if ca == "" && cert == "" && os.Getenv(keyVariable) == "" && os.Getenv(tlsVariable) != "true" {
		return nil, nil
	}
	// Take the authority that signs the server's certificate.
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, &beagle.UsageError{
				What:   caVariable + ": " + err.Error(),
				Remedy: "name a file of PEM certificates",
			}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &beagle.UsageError{
				What:   caVariable + ": no certificate in " + ca,
				Remedy: "name a file of PEM certificates",
			}
		}
	}
	// Take the certificate of this client.
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("%s and %s: %v", certVariable, pkeyVariable, err),
				Remedy: "name a certificate and its key, in PEM",
			}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// quietLog returns a log that drops the SDK's warnings about connections that it makes again by
// itself.
func quietLog() log.Logger {
	return log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{
		Level: slog.LevelError,
	})))
}
