package windows

import "github.com/beagle-go/beagle/internal/watch"

// A Report is the result of a look at a service.
type Report struct {
	Service   string          `json:"service"`
	Added     int             `json:"added"`              // windows that were looked at now
	Kept      int             `json:"kept"`               // windows in the store
	From      string          `json:"from,omitempty"`     // start of the first window that is searched
	Until     string          `json:"until,omitempty"`    // end of the last
	Findings  []watch.Finding `json:"findings"`           // new ones; all with --all
	Skipped   []watch.Skipped `json:"skipped,omitempty"`  // changes that a filter took out
	Refused   []string        `json:"refused,omitempty"`  // windows that could not be used
	Open      string          `json:"open,omitempty"`     // end of the window that has profiles and is not over
	Outlooks  []Outlook       `json:"outlooks,omitempty"` // forecasts, and why one is not shown
	NoOutlook string          `json:"no_outlook,omitempty"`
}
