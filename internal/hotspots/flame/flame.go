// Package flame writes a flame graph as one HTML file that needs no network
// and no server. The page is that of google/pprof's own interface, with money
// as the value of each frame. The program beagle-flame links it, and beagle does not.
package flame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// global guards pprof's configuration, which is the process's.
var global sync.Mutex

// HTML returns the page of a profile. scale turns a value into the shown units.
func HTML(p *profile.Profile, title, unit string, scale float64) ([]byte, error) {
	global.Lock()
	defer global.Unlock()
	quiet := &silent{}
	var page bytes.Buffer
	err := driver.PProf(&driver.Options{
		Flagset: &flags{}, Fetch: fetched{p}, Sym: symbolised{}, UI: quiet,
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			h := args.Handlers["/flamegraph"]
			if h == nil {
				return errors.New("pprof has no flame graph")
			}
			answer := &recorder{head: http.Header{}, status: http.StatusOK}
			h.ServeHTTP(answer, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/flamegraph"},
				Header: http.Header{}})
			if answer.status != http.StatusOK {
				return fmt.Errorf("pprof answers %d: %s", answer.status, answer.body.String())
			}
			page = answer.body
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("flame graph: %w%s", err, quiet.inParentheses())
	}
	return standalone(page.String(), title, unit, scale)
}

// style: what of the page works only with pprof's server behind it.
const style = `<style>
.header .title, .header .title h1 { min-width: max-content; white-space: nowrap; }
#view, #sample, #refine, #config, #download, #action-menu { display: none !important; }
</style>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
`

// standalone makes the page stand by itself: its title, its unit, no menu that
// leads to a server, and a policy that lets it load nothing.
func standalone(page, title, unit string, scale float64) ([]byte, error) {
	for _, change := range []struct{ old, new string }{
		{`"Scale":1,"Type":"cost","Unit":""`, fmt.Sprintf(`"Scale":%g,"Type":"cost","Unit":%s`, scale, asScript(unit))},
		{"</head>", style + "</head>"},
		{`<h1><a href="./">pprof</a></h1>`, "<h1>" + html.EscapeString(title) + "</h1>"},
	} {
		if !strings.Contains(page, change.old) {
			return nil, fmt.Errorf("flame graph: pprof's page has no %s: another version of google/pprof needs "+
				"other changes", change.old)
		}
		page = strings.Replace(page, change.old, change.new, 1)
	}
	if begin := strings.Index(page, "<title>"); begin >= 0 {
		if end := strings.Index(page, "</title>"); end > begin {
			page = page[:begin] + "<title>" + html.EscapeString(title) + page[end:]
		}
	}
	return []byte(page), nil
}

// asScript returns a text for a script inside of a page.
func asScript(text string) string {
	data, err := json.Marshal(text) // escapes <, > and & too
	if err != nil {
		return `""`
	}
	return string(data)
}

type fetched struct{ p *profile.Profile }

func (f fetched) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return f.p, "", nil
}

// symbolised has nothing to do: the profile has its symbols.
type symbolised struct{}

func (symbolised) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// flags are pprof's command line: -http, so that it makes its pages.
type flags struct{}

func (*flags) Bool(_ string, def bool, _ string) *bool          { return &def }
func (*flags) Int(_ string, def int, _ string) *int             { return &def }
func (*flags) Float64(_ string, def float64, _ string) *float64 { return &def }
func (*flags) String(name string, def string, _ string) *string {
	if name == "http" {
		def = "localhost:1" // no port opens: this process calls the pages itself
	}
	return &def
}
func (*flags) StringList(string, string, string) *[]*string { return &[]*string{} }
func (*flags) ExtraUsage() string                           { return "" }
func (*flags) AddExtraUsage(string)                         {}
func (*flags) Parse(func()) []string                        { return []string{"profile"} }

// silent keeps pprof's words for an error.
type silent struct{ words []string }

func (*silent) ReadLine(string) (string, error)     { return "", errors.New("no input") }
func (*silent) Print(...any)                        {}
func (s *silent) PrintErr(what ...any)              { s.words = append(s.words, fmt.Sprint(what...)) }
func (*silent) IsTerminal() bool                    { return false }
func (*silent) WantBrowser() bool                   { return false }
func (*silent) SetAutoComplete(func(string) string) {}

func (s *silent) inParentheses() string {
	if len(s.words) == 0 {
		return ""
	}
	return " (" + strings.Join(s.words, "; ") + ")"
}

// recorder is an answer in memory.
type recorder struct {
	head   http.Header
	body   bytes.Buffer
	status int
}

func (r *recorder) Header() http.Header         { return r.head }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int)      { r.status = status }
