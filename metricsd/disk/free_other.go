//go:build !unix

package disk

import "errors"

// Free returns an error: Unix alone tells.
func Free(string) (int64, error) { return 0, errors.ErrUnsupported }
