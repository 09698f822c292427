package main

import (
	"context"
	"fmt"
	"os"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rollout/slo"
	"github.com/beagle-go/beagle/internal/settings"
	"github.com/beagle-go/beagle/internal/tail"
)

// deriveGuardrails reads a file of sloth, of OpenSLO, or of Prometheus' rules.
func deriveGuardrails(file string) (*slo.Guardrails, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &beagle.UsageError{What: tail.FileError(err),
			Remedy: "name files of sloth, of OpenSLO, or of Prometheus' rules"}
	}
	g, err := slo.Derive(text)
	if err != nil {
		return nil, &beagle.UsageError{What: file + ": " + err.Error(),
			Remedy: "write the guardrail into " + settings.Name + " by hand (docs/rollout.md)"}
	}
	return g, nil
}

// rolloutGuardrails prints the guardrails of files for beagle.yaml.
func rolloutGuardrails(_ context.Context, o *rolloutFlags) (int, error) {
	all := &slo.Guardrails{}
	// Two files may not set the same guardrail: one of them would be lost.
	for _, file := range o.rest {
		g, err := deriveGuardrails(file)
		if err != nil {
			return exitUsage, err
		}
		if err := all.Add(g); err != nil {
			return exitUsage, &beagle.UsageError{What: file + ": " + err.Error(),
				Remedy: "print the guardrails of each service by themselves"}
		}
	}
	// Print YAML to paste, headed by the place where it belongs.
	fmt.Fprintf(o.std.out, "# For %s, below services: NAME: rollout:, beside prometheus: http://...\n", settings.Name)
	fmt.Fprint(o.std.out, all.Text())
	return exitOK, nil
}
