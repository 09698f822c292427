package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/beagle-go/beagle"
)

// A moduleCounts holds the counts of a recall in one module.
type moduleCounts struct {
	Key       string         `json:"key"`
	Modules   int            `json:"modules"` // 1, or 0 if it could not be read
	Packages  int            `json:"packages"`
	Functions int            `json:"functions"`
	Hits      map[string]int `json:"hits"`
	Faults    map[string]int `json:"faults,omitempty"`
	Failed    string         `json:"failed,omitempty"`
}

// keep opens the counts that an earlier run of the same program made in the same directory, so that
// a stopped run goes on there.
func (r *recall) keep() error {
	program, err := os.Executable()
	if err == nil {
		r.program, err = hashFile(program)
	}
	if err == nil {
		err = os.MkdirAll(r.dir, 0o755)
	}
	if err != nil {
		return err
	}
	key := func(c *moduleCounts) (string, bool) { return c.Key, true }
	r.keptCounts, err = openShelf(filepath.Join(r.dir, "recall.jsonl"), key)
	return err
}

// key identifies the counts of a module: they depend on the rules, which the program holds.
func (r *recall) key(m module) string {
	return beagle.HashOf("field recall", r.program, m.path, m.version, r.per, r.names, r.compile)
}

// counts adds the counts of a module, new or kept.
func (r *recall) counts(ctx context.Context, m module) error {
	// Count in the module, unless an earlier run did.
	c := r.keptCounts.get(r.key(m))
	if c == nil {
		one := &recall{
			root: r.root, dir: r.dir, per: r.per, names: r.names, compile: r.compile, rules: r.rules,
			hits: map[string]int{}, faults: map[string]int{},
		}
		err := one.module(ctx, m)
		if ctx.Err() != nil {
			return errors.New("stopped; with -dir the same command goes on where this one ended")
		}
		c = &moduleCounts{
			Key: r.key(m), Modules: one.modules, Packages: one.packages, Functions: one.functions,
			Hits: one.hits, Faults: one.faults,
		}
		if err != nil {
			c.Failed = fmt.Sprintf("%s: %v", m.path, err)
		}
		if err := r.keptCounts.put(c.Key, c); err != nil {
			return err
		}
	}
	// Add the counts to the totals.
	r.modules, r.packages, r.functions = r.modules+c.Modules, r.packages+c.Packages, r.functions+c.Functions
	for name, n := range c.Hits {
		r.hits[name] += n
	}
	for name, n := range c.Faults {
		r.faults[name] += n
	}
	if c.Failed != "" {
		r.failed = append(r.failed, c.Failed)
	}
	return nil
}
