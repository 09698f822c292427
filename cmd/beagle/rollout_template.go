package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// rolloutTemplates are settings for deployers that ask the judge.
var rolloutTemplates = map[string]string{
	"argo": `# Argo Rollouts: an analysis that asks the judge. Inconclusive answers pause the rollout.
# share is the part of the ramp that must be passed; leave it out to wait until the candidate shipped.
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata:
  name: beagle
spec:
  args:
    - name: share
      value: "0.10"
  metrics:
    - name: beagle
      interval: 30s
      count: 120
      inconclusiveLimit: 119
      consecutiveSuccessLimit: 1
      successCondition: result.advance
      failureCondition: result.rollback
      provider:
        web:
          url: "http://beagle:9110/v1/rollouts/ID/argo?share={{args.share}}"
          timeoutSeconds: 10
          jsonPath: "{$}"
`,
	"flagger": `# Flagger: webhooks of a Canary. A status of 200 advances; the rollback hook rolls back on 200.
analysis:
  webhooks:
    - name: beagle-advance
      type: confirm-traffic-increase
      url: http://beagle:9110/v1/rollouts/ID/flagger/advance?share=0.10
    - name: beagle-promote
      type: confirm-promotion
      url: http://beagle:9110/v1/rollouts/ID/flagger/advance
    - name: beagle-rollback
      type: rollback
      url: http://beagle:9110/v1/rollouts/ID/flagger/rollback
`,
	"job": `# A step of any pipeline. Exit status: 0 shipped; 1 rolled back; 3 not decided yet.
beagle rollout judge --plan plan.json --state state.json blocks.jsonl
case $? in
  0) echo promote ;;
  3) echo wait ;;
  *) echo roll back ;;
esac
`,
	"openfeature": `# OpenFeature: any OFREP provider asks the judge for the arm of a process or a request.
# The flag is the rollout's ID; its values are original, candidate and placebo.
# Ask once for each process or request, never for each call.
curl -s http://beagle:9110/ofrep/v1/evaluate/flags/ID -d '{"context":{"targetingKey":"pod-7"}}'
`,
}

// rolloutTemplate prints the settings of a deployer.
func rolloutTemplate(_ context.Context, o *rolloutFlags) (int, error) {
	text, ok := rolloutTemplates[o.rest[0]]
	if !ok {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("there is no template %q", o.rest[0]),
			Remedy: "give " + strings.Join(inorder.Keys(rolloutTemplates), ", ")}
	}
	if o.id != "" {
		text = strings.ReplaceAll(text, "/ID", "/"+o.id)
	}
	_, err := fmt.Fprint(o.std.out, text)
	return exitOK, err
}
