package intake

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/web"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").
	Funcs(template.FuncMap{"count": count, "rate": rate, "ago": timeAgo, "share": share}).Parse(pageText))

// contentPolicy lets the page run only its own script: a name that looks like HTML stays text.
const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-%s'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'"

// servePage shows the overview to a browser. Anybody who may post chooses names, so the template
// escapes them, and the policy runs no script but the one with this answer's nonce.
func (in *Intake) servePage(w http.ResponseWriter, r *http.Request, c caller) {
	const rows = 15
	whose, err := in.shelf(r, c)
	if refused := (refusal{}); errors.As(err, &refused) {
		web.Fail(w, refused.status, err)
		return
	}
	nonce := rand.Text()
	// Render into memory first: then an error can still become an answer of its own.
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Overview": in.overview(r.Context(), whose, c.operator, rows),
		"Kinds":    index.Kinds,
		"Now":      time.Now(),
		"Nonce":    nonce,
	})
	if err != nil {
		in.failed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", fmt.Sprintf(contentPolicy, nonce))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(out.Bytes())
}

// count writes a number with thin spaces between thousands.
func count(n any) string {
	digits := fmt.Sprint(n)
	out := ""
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out += "\u2009"
		}
		out += string(d)
	}
	return out
}

func rate(r float64) string {
	if r >= 1000 {
		return count(int64(r + 0.5))
	}
	return fmt.Sprintf("%.3g", r)
}

// timeAgo returns how long before now a time was.
func timeAgo(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 2*time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d d ago", int(d.Hours()/24))
}

// share returns how full a stage is, in percent.
func share(s stage) int {
	if s.Bound == 0 {
		return 0
	}
	return int(min(100, 100*s.Waiting/s.Bound))
}
