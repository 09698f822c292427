package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

type options struct {
	db, ip, namespace string
	port              int
}

// settings differ from the defaults where those make a server with one shard
// slow: 20 polls a second are one workflow task every 50 ms, and four
// partitions make tasks that find no poller wait for a forwarder.
var settings = dynamicconfig.StaticClient{
	dynamicconfig.TransferProcessorMaxPollRPS.Key():         2000,
	dynamicconfig.TimerProcessorMaxPollRPS.Key():            2000,
	dynamicconfig.VisibilityProcessorMaxPollRPS.Key():       2000,
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
	dynamicconfig.EnableServerVersionCheck.Key():            false, // it would phone home
}

// newServer makes a Temporal server over a SQLite file.
func newServer(o options) (temporal.Server, error) {
	store := &config.SQL{
		PluginName: sqlite.PluginName, DatabaseName: o.db,
		// Commits survive the end of the process; power loss may take the last ones.
		ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "1"},
	}
	c, err := configuration(o, store)
	if err != nil {
		return nil, err
	}
	if err := prepare(o, store); err != nil {
		return nil, err
	}
	return temporal.NewServer(
		temporal.WithConfig(c),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Stdout: false, Level: "warn"}))),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithDynamicConfigClient(settings),
	)
}

// prepare makes the tables and the namespace, once.
func prepare(o options, store *config.SQL) error {
	if _, err := os.Stat(o.db); errors.Is(err, fs.ErrNotExist) {
		if err := schema.SetupSchema(store); err != nil {
			return fmt.Errorf("make the tables of %s: %w", o.db, err)
		}
	}
	ns, err := schema.NewNamespaceConfig("active", o.namespace, false, nil)
	if err != nil {
		return err
	}
	return schema.CreateNamespaces(store, ns)
}

// configuration returns the configuration of a server with all services in one process. Clients
// need the port of the frontend only.
func configuration(o options, store *config.SQL) (*config.Config, error) {
	const home = "127.0.0.1"
	frontend := fmt.Sprintf("%s:%d", o.ip, o.port)
	// Give each service its ports, the same after a restart.
	free, err := keptPorts(o.db+".ports", 8)
	if err != nil {
		return nil, err
	}
	service := func(i, port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: free[i], BindOnLocalHost: true}}
	}
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: sqlite.PluginName, VisibilityStore: sqlite.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqlite.PluginName: {SQL: store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{
				"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(0, o.port), "history": service(1, free[4]), "matching": service(2, free[5]),
			"worker": service(3, free[6]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		PublicClient: config.PublicClient{HostPort: frontend},
	}
	// Only the frontend listens at the given address.
	front := c.Services["frontend"]
	front.RPC.BindOnLocalHost, front.RPC.BindOnIP = false, o.ip
	c.Services["frontend"] = front
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: home}
	return c, nil
}

// keptPorts returns the ports of the services inside, the same after a restart: a server that was
// killed and comes back on others waits a minute for the old ones, which the tables of its members
// still name.
func keptPorts(file string, n int) ([]int, error) {
	var out []int
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &out) == nil && len(out) == n {
		return out, nil
	}
	out, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	text, _ := json.Marshal(out) // numbers
	return out, os.WriteFile(file, text, 0o644)
}

// freePorts finds ports without a listener, among those that systems give only on request by
// number: an outgoing connection could take any other before the server listens on it.
func freePorts(n int) ([]int, error) {
	const lowest, count = 20000, 10000
	var out []int
	for range 100 {
		port := lowest + rand.N(count)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close()
		if out = append(out, port); len(out) == n {
			return out, nil
		}
	}
	return nil, fmt.Errorf("fewer than %d ports from %d to %d are free", n, lowest, lowest+count-1)
}
