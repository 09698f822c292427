//go:build !embedded

package intake

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/bus/kafkatest"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/index/pgtest"
)

// init adds the queues and the index that run as servers of their own.
func init() {
	queues["kafka"] = func(t *testing.T, _ string) func() bus.Bus { // its protocol, over TCP
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		return openKafka(t, cluster.ListenAddrs()...)
	}
	queues["Apache's kafka"] = func(t *testing.T, _ string) func() bus.Bus {
		return openKafka(t, kafkatest.Start(t).Address)
	}
	indexes["postgres"] = func(t *testing.T, _ string) func() index.Index {
		address := pgtest.Start(t).Address
		return func() index.Index {
			x, err := index.OpenPostgres(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
}

func openKafka(t *testing.T, brokers ...string) func() bus.Bus {
	return func() bus.Bus {
		b, err := bus.OpenKafka(t.Context(), bus.KafkaOptions{Brokers: brokers, Topic: "customers", Partitions: 2,
			Replicas: 1, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// TestErrorsOfTheIndexStayInside asks while PostgreSQL is down. The answer is short, and the log
// has the reason.
func TestErrorsOfTheIndexStayInside(t *testing.T) {
	server := pgtest.Start(t)
	x, err := index.OpenPostgres(t.Context(), server.Address)
	if err != nil {
		t.Fatal(err)
	}
	o := twoCustomers(t)
	o.Flush = time.Hour
	var log safeText
	r := runLogged(t, o, queues["embedded"](t, t.TempDir())(), x, slog.New(slog.NewTextHandler(&log, nil)))
	r.as(acmeKey, http.StatusOK, "GET", "/api/entries", nil)
	server.Kill()
	for _, path := range []string{"/api/entries", "/api/entries?name=x"} {
		text := string(r.as(acmeKey, http.StatusInternalServerError, "GET", path, nil))
		if !strings.Contains(text, errUnanswered.Error()) || strings.Contains(text, "127.0.0.1") || len(text) > 200 {
			t.Errorf("%s: a customer is told %s", path, text)
		}
	}
	if told := log.String(); strings.Count(told, "a question was not answered") != 2 ||
		!strings.Contains(told, "path=/api/entries") {
		t.Errorf("the operator is told %s", told)
	}
	server.Run() // the intake writes once more when it stops
}
