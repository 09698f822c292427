//go:build embedded

package index

import (
	"context"
	"errors"
)

// OpenPostgres fails: this program was built without a client for PostgreSQL.
func OpenPostgres(context.Context, string) (Index, error) {
	return nil, errors.New("this metricsd was built with the tag embedded, without PostgreSQL; " +
		"build it without the tag, or leave intake.index.postgres out")
}
