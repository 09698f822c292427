package tools

import (
	"os"
	"testing"

	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/verify"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	verify.Brief()
	os.Exit(m.Run())
}
