package beagle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// HashOf is the content hash of the canonical JSON of its parts: 32 hex
// digits. encoding/json sorts map keys, so that equal content hashes equally.
func HashOf(kind string, parts ...any) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, p := range append([]any{kind}, parts...) {
		if err := e.Encode(p); err != nil {
			panic(fmt.Sprintf("beagle: %T is not plain data: %v", p, err))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
