package dogstatsd

import (
	"slices"
	"strings"
)

const checkRemedy = "write _sc|name|status, status 0 ok, 1 warning, 2 critical or 3 unknown"

// Check reads a service check line. The error is always a *SyntaxError.
func (p *Parser) Check(line []byte) (Check, error) {
	c := fields(line, 0)
	c.next()
	if string(c.field()) != "_sc" {
		return Check{}, c.fail(0, "the line does not start with _sc|", checkRemedy)
	}
	if !c.next() || len(c.field()) == 0 {
		return Check{}, c.fail(c.start, "the check has no name", checkRemedy)
	}
	check := Check{Name: p.interner.String(c.field())}
	if !c.next() {
		return Check{}, c.fail(len(line), "the check has no status", checkRemedy)
	}
	status := c.field()
	if len(status) != 1 || status[0] < '0' || status[0] > '3' {
		return Check{}, c.fail(c.start, "status "+quote(status)+" is unknown", checkRemedy)
	}
	check.Status = int(status[0] - '0')
	p.checkFields(&check, &c)
	return check, nil
}

func (p *Parser) checkFields(check *Check, c *cursor) {
	p.resetTags()
	host, hostSet := "", false
	for c.next() {
		if v, ok := c.after("h:"); ok {
			host, hostSet = p.interner.String(v), true
		} else if v, ok := c.after("m:"); ok {
			// Clients escape "m:" inside a message, which older servers took for a field.
			check.Message = strings.ReplaceAll(unescape(v), `m\:`, "m:")
		} else if v, ok := c.after("d:"); ok {
			if warning := readSeconds(c, v, &check.Timestamp); warning != nil {
				check.Warnings = append(check.Warnings, warning)
			}
		} else {
			check.Warnings = p.common(c, &check.Source, check.Warnings)
		}
	}
	check.Tags = slices.Clone(p.takeInternal(&check.Source))
	if hostSet {
		check.Source.Host, check.Source.HostSet = host, true
	}
}
