package exports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads the output of `go list -json`: objects without commas between them.
func Decode[T any](out []byte) ([]T, error) {
	var all []T
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p T
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}
