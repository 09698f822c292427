package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/tagger/taggertest"
)

// selfSigned makes a certificate of another authority, for servers on loopback.
func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// inPEM returns a certificate as ca.crt holds it.
func inPEM(raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// TestTheClustersAuthorityChanges has the server show a certificate that the old ca.crt does not
// know: while the file is unchanged, while it is gone, and while it is being written. Once the new
// file is there the source goes on. Known tags stay meanwhile.
func TestTheClustersAuthorityChanges(t *testing.T) {
	a := startAPI(t)
	w := watch(t, optionsFor(a))
	w.Eventually(ofPod, podLow)
	other := selfSigned(t)
	a.set(func() { a.certificate = other })
	a.server.CloseClientConnections()
	failsOn := func(what string) {
		_, before := w.source.Up()
		taggertest.Wait(t, what, func() bool { _, failures := w.source.Up(); return failures > before+1 })
	}
	failsOn("refused")
	if err := os.Remove(filepath.Join(a.secrets, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	failsOn("refused without the file")
	a.write("ca.crt", "-----BEGIN CERTIFICATE-----\nMIIB")
	failsOn("refused with half a file")
	if got := w.Tags(ofPod); got != podLow {
		t.Errorf("while the server is not known: %q", got)
	}
	a.write("ca.crt", inPEM(other.Certificate[0]))
	taggertest.Wait(t, "back", func() bool { up, _ := w.source.Up(); return up })
	a.watches <- changeOf("DELETED", checkoutPod(300, "Running"))
	w.Eventually(ofPod, "")
}
