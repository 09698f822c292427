//go:build !unix

package disk

import "errors"

// Free returns an error: only Unix reports it.
func Free(string) (int64, error) { return 0, errors.ErrUnsupported }
