package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/internal/command"
)

// A traced function has all of its calls written to a file.
type traced struct {
	spec string // as beagle takes it
	file string // of the module
	fun  string // the name of its declaration
	args string // that the trace writes, of each parameter with the receiver; nil for one that it leaves out
}

// functions take texts, lists of texts and of numbers, and bytes.
var functions = []traced{
	{"./contextkey.Generator.KeyHashed", "contextkey/contextkey.go", "KeyHashed", "nil, name, host, tags, hashes"},
	{"./dogstatsd.appendValues", "dogstatsd/parser.go", "appendValues", "to, list"},
	{"./murmur3.Sum128[[]byte]", "murmur3/murmur3.go", "Sum128", "data, seed"},
}

// only is the condition under which a call of a generic function is of the instantiation.
var only = map[string]string{"Sum128": "if _, is := any(data).([]byte); is"}

//go:embed files/traced.go.txt
var tracer []byte

// copyTraced copies metricsd, and has it write all calls of the functions.
func copyTraced(root, to string) (dir string, err error) {
	for _, module := range []string{"metricsd", "simd"} { // go.mod names ../simd
		if err := os.CopyFS(filepath.Join(to, module), os.DirFS(filepath.Join(root, module))); err != nil {
			return "", err
		}
	}
	dir = filepath.Join(to, "metricsd")
	if err := os.Mkdir(filepath.Join(dir, "traced"), 0o777); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "traced", "traced.go"), tracer, 0o666); err != nil {
		return "", err
	}
	for _, f := range functions {
		path := filepath.Join(dir, f.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if text, err = f.insert(text); err != nil {
			return "", fmt.Errorf("%s: %w", f.file, err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// insert adds the trace at the function's opening brace, its site at the end of the file, and the
// import after the package's name.
func (f traced) insert(text []byte) ([]byte, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", text, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok || fun.Name.Name != f.fun {
			continue
		}
		call := "defer traced" + f.fun + ".Enter(" + f.args + ").Leave()"
		if condition := only[f.fun]; condition != "" {
			call = condition + " { " + call + " }"
		}
		site := "\nvar traced" + f.fun + " = traced.New(\"" + f.fun + "\")\n"
		name, brace := files.Position(tree.Name.End()).Offset, files.Position(fun.Body.Lbrace).Offset+1
		return slices.Concat(text[:name], []byte("; import \"github.com/beagle-go/beagle/metricsd/traced\"\n"),
			text[name:brace], []byte(" "+call+"; "), text[brace:], []byte(site)), nil
	}
	return nil, errors.New("it has no function " + f.fun)
}

// A service is a traced metricsd with probes and traffic.
type service struct {
	socket, token string // of its probe
	trace         string // directory of the traces
	stop          func()
}

// start builds the service, and sends it traffic of two shapes through two sockets: lines that are
// broken, and lines with new names.
func start(ctx context.Context, root, dir string, bytesPerSecond int) (*service, error) {
	source, err := copyTraced(root, dir)
	if err != nil {
		return nil, err
	}
	// Build it with probes.
	beagle, err := command.Build(ctx, root, dir)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "traced")
	var specs []string
	for _, f := range functions {
		specs = append(specs, f.spec)
	}
	built, err := command.Call{Program: beagle, Dir: source, Env: []string{"GOWORK=off"}, Home: dir,
		Args: []string{"build", "--probe", strings.Join(specs, ","), "-o", program, "."}}.Run(ctx)
	if err != nil {
		return nil, err
	}
	if built.Status != 0 {
		return nil, fmt.Errorf("beagle build: %s", built.Said)
	}
	// Start its agent. The plain shape calls the functions for each line.
	s := &service{socket: filepath.Join(dir, "p"), token: filepath.Join(dir, "token"),
		trace: filepath.Join(dir, "trace")}
	if err := errors.Join(os.WriteFile(s.token, []byte(rand.Text()), 0o600), os.Mkdir(s.trace, 0o777)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	unixgram, stream := filepath.Join(dir, "d"), filepath.Join(dir, "s")
	agent := exec.CommandContext(ctx, program, "agent", "-http=", "-listen.udp=", "-listen.cache=0",
		"-listen.unixgram", unixgram, "-listen.unix", stream)
	agent.Env = append(os.Environ(), "BEAGLE_PROBE_SOCKET="+s.socket, "BEAGLE_PROBE_TOKEN="+s.token,
		"BEAGLE_PROBE_RAW=1", "TRACED="+s.trace)
	agent.Dir, agent.Stderr = dir, os.Stderr
	agent.Cancel = func() error { return agent.Process.Signal(syscall.SIGTERM) }
	agent.WaitDelay = 10 * time.Second
	if err := agent.Start(); err != nil {
		cancel()
		return nil, err
	}
	var all []*exec.Cmd
	s.stop = func() {
		cancel()
		for _, c := range append(all, agent) {
			_ = c.Wait() // it was killed
		}
	}
	for _, path := range []string{unixgram, stream, s.socket} {
		if err := appears(ctx, path); err != nil {
			s.stop()
			return nil, err
		}
	}
	// Send it traffic.
	for _, t := range [][]string{
		{"-shape", "malformed", "-network", "unixgram", "-address", unixgram},
		{"-shape", "storm", "-network", "unix", "-address", stream},
	} {
		c := exec.CommandContext(ctx, program, slices.Concat([]string{"load", "-for", "1h", "-rate",
			fmt.Sprint(bytesPerSecond / 2)}, t)...)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			s.stop()
			return nil, err
		}
		all = append(all, c)
	}
	return s, nil
}

// appears waits for a file.
func appears(ctx context.Context, path string) error {
	for range 600 {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s does not appear", path)
}
