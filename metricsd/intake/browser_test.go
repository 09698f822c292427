package intake

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/beagle-go/beagle/metricsd/intake/index"
)

// browser starts a browser, which ends with the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	found := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			found = path
		}
	}
	if found == "" {
		t.Skip("no Chromium on PATH (apt-get install chromium): the page is not tried in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(found), chromedp.NoSandbox,
		chromedp.WindowSize(1200, 1300))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// TestPageOfCustomers shows the operator the customers and opens the page of one of them, where
// completion finds only that customer's names. The key is the password, as people give it; the page
// does not hold it.
func TestPageOfCustomers(t *testing.T) {
	ctx := browser(t)
	o := twoCustomers(t)
	o.Flush = time.Hour // rates are known some seconds after the last
	r := start(t, t.TempDir(), o)
	for _, s := range senders {
		r.as(s.key, http.StatusAccepted, "POST", "/api/v1/series", manyNames(s.points))
	}
	r.as(acmeKey, http.StatusAccepted, "POST", "/api/v1/series", body("rocket.launches", "pad-1", 9, "env:desert"))
	r.eventually("there", func() bool { known, _ := r.processor.shelves.len(index.Metric); return known == 301 })
	r.eventually("ranked", func() bool { return len(r.processor.rankOf("acme").top[index.Metric]) > 0 })

	with := func(password string) string { return strings.Replace(r.url, "http://", "http://x:"+password+"@", 1) }
	do(t, ctx, chromedp.Navigate(with(operatorToken)+"/"))
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	keep(t, "customers.png", ask(t, ctx, chromedp.FullScreenshot(100)))
	text := ask(t, ctx, chromedp.Text("body"))
	for _, want := range []string{"customer default", "acme", "globex", "Which stage cannot keep up"} {
		if !strings.Contains(text, want) {
			t.Errorf("the operator's page lacks %q:\n%s", want, text)
		}
	}
	do(t, ctx, chromedp.Navigate(r.url+"/?customer=acme"), chromedp.SendKeys("#part", "rocket"))
	until(t, ctx, `document.querySelectorAll("#found li").length == 1`)
	keep(t, "acme.png", ask(t, ctx, chromedp.FullScreenshot(100)))
	if found := ask(t, ctx, chromedp.Text("#found")); found != "rocket.launches" {
		t.Errorf("completion finds %q", found)
	}
	ctx = browser(t) // which knows no password yet
	do(t, ctx, chromedp.Navigate(with(globexKey)+"/"), chromedp.SendKeys("#part", "rocket"))
	until(t, ctx, `document.getElementById("said").textContent.startsWith("Nothing")`)
	text = ask(t, ctx, chromedp.Text("body"))
	keep(t, "globex.png", ask(t, ctx, chromedp.FullScreenshot(100)))
	if strings.Contains(text, "acme") || strings.Contains(text, "rocket") || strings.Contains(text, "Which stage") ||
		!strings.Contains(text, "customer globex") {
		t.Errorf("globex sees:\n%s", text)
	}
}

// TestPageInABrowser types into the page's auto-completion at 10,000 names. With
// METRICSD_SCREENSHOTS it saves pictures in that directory.
func TestPageInABrowser(t *testing.T) {
	r := start(t, t.TempDir(), Options{})
	const evil = `<img src=x onerror="document.title='broken'">`
	r.post(body("app.first", evil, 1, "env:prod"))
	for i := range 100 {
		r.post(manyNames(i))
	}
	r.eventually("there", func() bool { known, _ := r.processor.shelves.len(0); return known == 10_001 })
	r.eventually("ranked", func() bool { return len(r.processor.rankOf("").top[0]) > 0 })

	ctx := browser(t)
	// The browser lives as long as the first call's context; the others get a bound.
	do(t, ctx, chromedp.Navigate(r.url+"/"))
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	keep(t, "overview.png", ask(t, ctx, chromedp.FullScreenshot(100)))
	first := ask(t, ctx, chromedp.Text("body"))
	do(t, ctx, chromedp.EmulateViewport(400, 900)) // a narrow window shows whole names
	until(t, ctx, `[...document.querySelectorAll("td:first-child")].every(td => td.scrollWidth <= td.clientWidth)`)
	keep(t, "narrow.png", ask(t, ctx, chromedp.FullScreenshot(100)))
	do(t, ctx, chromedp.EmulateViewport(1200, 1300))
	do(t, ctx, chromedp.SendKeys("#part", "checkout.77"))
	// The keys come one by one, and the page may show what it finds for the first of them.
	until(t, ctx, `document.querySelectorAll("#found li").length >= 5 &&
		[...document.querySelectorAll("#found li")].every(li => li.textContent.includes("checkout.77"))`)
	found := ask(t, ctx, chromedp.Text("#found"))
	do(t, ctx, chromedp.Click("#found li:first-child button"))
	until(t, ctx, `document.getElementById("said").textContent.includes("first seen")`)
	keep(t, "found.png", ask(t, ctx, chromedp.FullScreenshot(100)))
	do(t, ctx, chromedp.SendKeys("#part", "no such"))
	until(t, ctx, `document.getElementById("said").textContent.startsWith("Nothing")`)
	none := ask(t, ctx, chromedp.Text("#said"))
	ask(t, ctx,
		chromedp.Evaluate[string](
			`document.getElementById("part").value = "", document.getElementById("kind").value = "host"`))
	do(t, ctx, chromedp.SendKeys("#part", "onerror"))
	until(t, ctx, `document.querySelectorAll("#found li").length == 1`)
	said := ask(t, ctx, chromedp.Text("#found"))
	title := ask(t, ctx, chromedp.Title())
	if !strings.Contains(first, "10\u2009001 metrics") || !strings.Contains(first, "Which stage cannot keep up") {
		t.Errorf("the page says:\n%s", first)
	}
	if n := strings.Count(found, "checkout.77"); n < 5 {
		t.Errorf("auto-completion found:\n%s", found)
	}
	if !strings.Contains(said, evil) || title != "metricsd" {
		t.Errorf("a host that looks like HTML shows as %q; the title is %q", said, title)
	}
	if !strings.HasPrefix(none, "Nothing") {
		t.Errorf("a part that is nowhere: %q", none)
	}
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func ask[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits for a condition in the page.
func until(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	ask(t, ctx, chromedp.Poll[bool](condition))
}

// manyNames returns a body with a hundred names.
func manyNames(i int) []byte {
	var b strings.Builder
	b.WriteString(`{"series":[`)
	for k := range 100 {
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b,
			`{"metric":"shop%d.checkout.%d.latency","host":"web-%02d","tags":["env:prod","region:eu-%d"],"points":[[1700000000,%d]]}`,
			i%7, i*100+k, k%40, k%3, k)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func keep(t *testing.T, name string, picture []byte) {
	dir := os.Getenv("METRICSD_SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), picture, 0o644); err != nil {
		t.Error(err)
	}
}
