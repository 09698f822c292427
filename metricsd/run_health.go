package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/beagle-go/beagle/metricsd/config"
)

// runHealth asks a running metricsd for its health, for images without another program that could.
func runHealth(args []string, s streams) error {
	set := flag.NewFlagSet("metricsd health", flag.ContinueOnError)
	patience := set.Duration("within", 3*time.Second, "how long the answers may take")
	set.Usage = func() {
		fmt.Fprintln(s.out,
			"usage: metricsd health [flags] [ADDRESS...], as 127.0.0.1:9125; the status is 0 when all are well.\n"+
				"Without an address, on Linux, it asks what each metricsd of this user and container serves.")
		set.PrintDefaults()
	}
	if err := config.ParseFlags(set, args, s.out); err != nil {
		return err
	}
	addresses := set.Args()
	// Flags that started a service are in no file, so read its command line.
	if len(addresses) == 0 {
		var err error
		if addresses, err = serviceAddresses("/proc"); err != nil {
			return fmt.Errorf("%w; give the address of /healthz, as 127.0.0.1:9125", err)
		}
	}
	client := &http.Client{Timeout: *patience}
	// The first unhealthy service decides the status; the text says why, in one line at most.
	for _, address := range addresses {
		resp, err := client.Get("http://" + address + "/healthz")
		if err != nil {
			return err
		}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 100))
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s %q", address, resp.Status, text)
		}
	}
	return nil
}
