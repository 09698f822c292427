package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var alertName = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

// TestAlertsFire has Prometheus' own tool evaluate the rules, with their real times, over series in
// which each alert must fire and no other.
func TestAlertsFire(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (apt-get install prometheus): the alert rules are not tested")
	}
	rules, tests := deployed(t, "prometheus/metricsd.rules.yml"), deployed(t, "prometheus/metricsd.test.yml")
	names := alertName.FindAllStringSubmatch(rules, -1)
	if len(names) < 14 {
		t.Errorf("%d rules are found", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests, `alertname="`+name[1]+`"`) {
			t.Errorf("no test sees %s fire", name[1])
		}
	}
	cmd := exec.Command(tool, "test", "rules", "metricsd.test.yml")
	cmd.Dir = "deploy/prometheus"
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
