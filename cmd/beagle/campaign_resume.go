package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// planned are the flags that say where a campaign works, what it takes up, and at which price. They
// are settled when it begins.
var planned = []string{
	"C", "config", "service", "price", "cores", "least", "seconds", "over", "targets", "first", "heads", "anyway",
}

// ofModels are the flags that belong to the models that are named beside them.
var ofModels = []string{"temperature", "price-in", "price-out", "key-file", "record", "replay", "lessons"}

// followFlags are the flags that say how to follow a campaign. A workflow keeps all others.
var followFlags = []string{"resume", "temporal", "namespace", "json", "quiet"}

// changes refuses flags beside --resume that would change nothing, and drops a kept setting that
// one of the flags excludes.
func (o *campaignRun) changes(f *flagSet) error {
	if names := f.givenAmong(planned); len(names) > 0 {
		return &beagle.UsageError{
			What: strings.Join(names, " and ") + " beside --resume",
			Remedy: "a campaign keeps the checkout, the ranking and the targets that it was planned with: begin " +
				"another one",
		}
	}
	// Inputs come from files or from probes: the new flag takes the place of the kept setting.
	switch {
	case f.given("inputs") && !f.given("at"):
		o.at = ""
	case f.given("at") && !f.given("inputs"):
		o.inputs = ""
	}
	return nil
}

// followed refuses flags beside --resume that do not reach a workflow.
func followed(f *flagSet, id, address string) error {
	var names []string
	// Flags about the following itself belong to this process.
	f.Visit(func(g *flag.Flag) {
		if !slices.Contains(followFlags, g.Name) {
			names = append(names, dashed(g.Name))
		}
	})
	if len(names) == 0 {
		return nil
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("%s with campaign %s, which a workflow on %s has", strings.Join(names, " and "), id,
			address),
		Remedy: "leave it out: the workflow keeps the flags and the budget that the campaign was planned with",
	}
}

// givenAmong returns those of the named flags that the command line has.
func (f *flagSet) givenAmong(names []string) (there []string) {
	for _, name := range names {
		if f.given(name) {
			there = append(there, dashed(name))
		}
	}
	return there
}

// dashed returns a flag as people write it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
