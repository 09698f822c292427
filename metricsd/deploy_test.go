package main

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/beagle-go/beagle/metricsd/config"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// understood checks that metricsd takes a command line with an environment.
func understood(t *testing.T, where string, args, environ []string) config.Config {
	t.Helper()
	if len(args) == 0 || !slices.Contains([]string{"all", "agent", "intake"}, args[0]) {
		t.Errorf("%s: %q begins with no verb", where, args)
		return config.Config{}
	}
	l, err := config.NewLoader(args[0], args[1:], environ, io.Discard)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return config.Config{}
	}
	c, err := l.Load()
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	return c
}

// instructions returns the instructions of a Dockerfile, with the text that follows each.
func instructions(text string) (all [][2]string) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "" && word != "#" {
			all = append(all, [2]string{word, strings.TrimSpace(rest)})
		}
	}
	return all
}

// TestImage reads the recipe. metricsd accepts what the image runs, the user is not root, and the
// health check asks the service that runs.
func TestImage(t *testing.T) {
	last := map[string]string{}
	for _, i := range instructions(deployed(t, "Dockerfile")) {
		last[i[0]] = i[1]
	}
	list := func(text string) (args []string) {
		if err := json.Unmarshal([]byte(text[strings.IndexByte(text, '['):]), &args); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return args
	}
	c := understood(t, "CMD", list(last["CMD"]), nil)
	health := list(last["HEALTHCHECK"])
	if !slices.Equal(health, append(list(last["ENTRYPOINT"]), "health")) {
		t.Errorf("the health check runs %q: with an address it is wrong for another command", health)
	}
	for _, address := range []string{c.HTTP, c.Intake.HTTP, c.Listen.UDP} {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host != "0.0.0.0" || !strings.Contains(last["EXPOSE"], port) {
			t.Errorf("%s is not to be reached from outside: EXPOSE %s", address, last["EXPOSE"])
		}
	}
	if last["FROM"] != "scratch" || !strings.HasPrefix(last["USER"], "65532") {
		t.Errorf("the image is from %s, for %s", last["FROM"], last["USER"])
	}
	if dir := last["WORKDIR"]; filepath.IsAbs(c.Intake.Queue.Dir) || dir != last["VOLUME"] {
		t.Errorf("the data is in %s of %s, the volume is %s", c.Intake.Queue.Dir, dir, last["VOLUME"])
	}
}

// TestImageBinary builds the binary by the recipe's own command. It needs no library and no loader,
// and runs.
func TestImageBinary(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("the image's binary is for Linux, and building it takes minutes")
	}
	out := filepath.Join(t.TempDir(), "metricsd")
	built := false
	for _, i := range instructions(deployed(t, "Dockerfile")) {
		if i[0] != "RUN" || !strings.Contains(i[1], "go build") {
			continue
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(i[1], "/out/metricsd", out))
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", i[1], err, text)
		}
		built = true
	}
	if !built {
		t.Fatal("the recipe builds nothing")
	}
	binary, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, _ := binary.ImportedLibraries(); len(libraries) > 0 ||
		slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("the binary needs a loader, and libraries %q", libraries)
	}
	run := exec.Command(out, "parse")
	run.Stdin, run.Env = strings.NewReader("a:1|c\n"), []string{}
	if text, err := run.CombinedOutput(); err != nil || !strings.Contains(string(text), `"name":"a"`) {
		t.Errorf("it says %q, %v", text, err)
	}
}

// TestCompose reads the example: metricsd accepts its command.
func TestCompose(t *testing.T) {
	var c struct {
		Services map[string]struct {
			Build       struct{ Context, Dockerfile string }
			Command     []string
			Environment map[string]string
			Ports       []string
			Volumes     []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	s := c.Services["metricsd"]
	understood(t, "compose", s.Command, environment(s.Environment))
	if _, err := os.Stat(filepath.Join("deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for _, port := range s.Ports {
		if !strings.HasPrefix(port, "127.0.0.1:") {
			t.Errorf("port %s is open to everybody", port)
		}
	}
	volume, _, _ := strings.Cut(s.Volumes[0], ":")
	if _, ok := c.Volumes[volume]; !ok {
		t.Errorf("volume %q is not made", volume)
	}
}

func environment(of map[string]string) (environ []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		environ = append(environ, name+"="+of[name])
	}
	return environ
}

// A workload is the part of a DaemonSet or a StatefulSet that the test reads.
type workload struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name, Namespace string }
	Spec       struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				ServiceAccountName string `yaml:"serviceAccountName"`
				Containers         []podContainer
			}
		}
	}
}

type podContainer struct {
	Name string
	Args []string
	Env  []struct {
		Name, Value string
		ValueFrom   map[string]any `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	VolumeMounts   []struct {
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// TestKubernetes reads the manifest. metricsd accepts what each container runs; it listens on the
// named ports, and keeps its files on mounts.
func TestKubernetes(t *testing.T) {
	manifest := yaml.NewDecoder(strings.NewReader(deployed(t, "kubernetes.yaml")))
	kinds := map[string]int{}
	for {
		var w workload
		err := manifest.Decode(&w)
		if errors.Is(err, io.EOF) {
			break
		}
		if kinds[w.Kind]++; err != nil && w.Kind != "Service" { // a Service's selector has another form
			t.Fatal(err)
		}
		if w.APIVersion == "" || w.Metadata.Name == "" {
			t.Errorf("%+v is no object", w)
		}
		if w.Kind != "DaemonSet" && w.Kind != "StatefulSet" {
			continue
		}
		if !maps.Equal(w.Spec.Selector.MatchLabels, w.Spec.Template.Metadata.Labels) {
			t.Errorf("%s does not select its own pods", w.Metadata.Name)
		}
		for _, c := range w.Spec.Template.Spec.Containers {
			checkContainer(t, w.Metadata.Name, c)
		}
	}
	for _, kind := range []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "DaemonSet", "Service",
		"StatefulSet"} {
		if kinds[kind] != 1 {
			t.Errorf("%d objects of kind %s", kinds[kind], kind)
		}
	}
}

func checkContainer(t *testing.T, where string, c podContainer) {
	t.Helper()
	var environ []string
	for _, e := range c.Env {
		if e.Value == "" && e.ValueFrom == nil {
			t.Errorf("%s: %s has no value", where, e.Name)
		}
		environ = append(environ, e.Name+"=from-the-cluster")
	}
	said := understood(t, where, c.Args, environ)
	listens, kept := []string{said.HTTP, said.Listen.UDP}, []string{said.Datadog.Queue}
	if c.Args[0] == "intake" {
		listens = []string{said.Intake.HTTP}
		kept = []string{said.Intake.Queue.Dir, said.Intake.Index.Dir, said.Intake.Customers}
	}
	for _, port := range c.Ports {
		if !slices.Contains(listens, fmt.Sprint("0.0.0.0:", port.ContainerPort)) {
			t.Errorf("%s: nothing listens on port %d, but on %q", where, port.ContainerPort, listens)
		}
	}
	for _, path := range kept {
		mounted := false
		for _, m := range c.VolumeMounts {
			mounted = mounted || strings.HasPrefix(path, m.MountPath+"/")
		}
		if !mounted {
			t.Errorf("%s: %s is on no volume", where, path)
		}
	}
	for _, p := range []probe{c.LivenessProbe, c.ReadinessProbe} {
		if p.HTTPGet.Path != "/healthz" || p.HTTPGet.Port != "http" {
			t.Errorf("%s: a probe asks %+v", where, p.HTTPGet)
		}
	}
}

// TestUnit checks the command of the unit for systemd.
func TestUnit(t *testing.T) {
	for line := range strings.Lines(deployed(t, "metricsd.service")) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok {
			understood(t, "ExecStart", strings.Fields(command)[1:], nil)
			return
		}
	}
	t.Error("the unit starts nothing")
}
