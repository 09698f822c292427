//go:build !unix

package disk

import "errors"

// Free is known on Unix only.
func Free(string) (int64, error) { return 0, errors.ErrUnsupported }
