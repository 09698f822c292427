// Devserver is a Temporal server for tests: the real one, in one process, with one shard and SQLite
// in write-ahead mode, so that it survives kill -9. It is a module of its own because it links some
// 200 others. Do not run it for users: it authenticates no one, and its file has no migrations.
//
//	devserver -db FILE -port PORT [-ip ADDRESS]
//
// It prints a line when it serves, and ends with SIGTERM.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var o options
	flag.StringVar(&o.db, "db", "", "SQLite `file`; made when it is not there")
	flag.IntVar(&o.port, "port", 0, "`port` of the frontend")
	flag.StringVar(&o.ip, "ip", "127.0.0.1", "`address` of the frontend")
	flag.StringVar(&o.namespace, "namespace", "default", "namespace to make")
	flag.Parse()
	if err := serve(o); err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

func serve(o options) error {
	if o.db == "" || o.port == 0 {
		return fmt.Errorf("-db and -port are needed")
	}
	s, err := newServer(o)
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	fmt.Printf("serving on %s:%d\n", o.ip, o.port)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
	return s.Stop()
}
