package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	environmentPrefix = "METRICSD_"
	// fileVariable names the file when -config does not.
	fileVariable = environmentPrefix + "CONFIG"
)

// Loader reads a configuration, as often as it is asked.
type Loader struct {
	verb     string
	environ  []string
	file     string
	settings []setting
}

// setting is a flag as given.
type setting struct{ path, value string }

// NewLoader reads the flags; environ is as os.Environ gives it. Help goes to w.
func NewLoader(verb string, args, environ []string, w io.Writer) (*Loader, error) {
	l := &Loader{verb: verb, environ: environ}
	set := flag.NewFlagSet("metricsd "+verb, flag.ContinueOnError)
	set.StringVar(&l.file, "config", "",
		"YAML `file` with the configuration; "+fileVariable+" in the environment names one too")
	defaults := Default()
	// Add a flag for each field. Note its value and do not set it yet: the file and the
	// environment, which weigh less, are read later, and the file's name is itself a flag.
	for path, field := range leaves(reflect.ValueOf(&defaults).Elem(), "") {
		usage := field.help
		if !field.value.IsZero() {
			usage = fmt.Sprintf("%s (default %v)", field.help, field.value)
		}
		note := func(value string) error {
			l.settings = append(l.settings, setting{path, value})
			return nil
		}
		// Only a boolean flag may stand without a value.
		if field.value.Kind() == reflect.Bool {
			set.BoolFunc(path, usage, note)
		} else {
			set.Func(path, usage, note)
		}
	}
	if err := ParseFlags(set, args, w); err != nil {
		return nil, err
	}
	// As for every field, the flag wins over the environment.
	if l.file == "" {
		l.file = lookup(environ, fileVariable)
	}
	if set.NArg() > 0 {
		return nil, &UsageError{set.Name(), fmt.Sprintf("argument %q: it takes flags only", set.Arg(0))}
	}
	return l, nil
}

func lookup(environ []string, name string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// Load reads the file and lays environment and flags over it.
func (l *Loader) Load() (Config, error) {
	c := Default()
	if l.file != "" {
		if err := readFile(l.file, &c); err != nil {
			return Config{}, err
		}
	}
	fields := make(map[string]leaf)
	for path, field := range leaves(reflect.ValueOf(&c).Elem(), "") {
		fields[path] = field
	}
	if err := l.readEnvironment(fields); err != nil {
		return Config{}, err
	}
	for _, s := range l.settings {
		if err := assign(fields[s.path].value, s.value); err != nil {
			return Config{}, fmt.Errorf("flag -%s: %w", s.path, err)
		}
	}
	return c, c.Check(l.verb)
}

// readFile reads the one document of a YAML file. A field that is unknown is an error: a misspelt
// bound would otherwise be no bound, silently.
func readFile(name string, c *Config) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("configuration: %w; give -config an existing file", err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("configuration %s: %w; metricsd all -h lists the fields", name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("configuration %s: a second document; keep one", name)
	}
	return nil
}

// readEnvironment sets fields from variables that are named after them. As in the file, a name with
// the prefix that stands for nothing is an error.
func (l *Loader) readEnvironment(fields map[string]leaf) error {
	paths := make(map[string]string, len(fields))
	for path := range fields {
		paths[variableName(path)] = path
	}
	// Go in order, so that of two mistakes the same one is reported each time.
	for _, pair := range slices.Sorted(slices.Values(l.environ)) {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, environmentPrefix) || name == fileVariable {
			continue
		}
		path, known := paths[name]
		if !known {
			return fmt.Errorf("environment: %s is not a setting; metricsd all -h lists them, %s stands for -listen.udp",
				name, variableName("listen.udp"))
		}
		if err := assign(fields[path].value, value); err != nil {
			return fmt.Errorf("environment: %s: %w", name, err)
		}
	}
	return nil
}

// variableName returns the environment's name for a field.
func variableName(path string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

type leaf struct {
	value reflect.Value
	help  string
}

// leaves yields the fields of a struct of structs under their dotted names. Maps, which have no
// form on a command line, are left to the file.
func leaves(v reflect.Value, prefix string) func(yield func(string, leaf) bool) {
	return func(yield func(string, leaf) bool) {
		for i := range v.NumField() {
			field := v.Type().Field(i)
			path := prefix + field.Tag.Get("yaml")
			if v.Field(i).Kind() == reflect.Map {
				continue // in the file only
			}
			if v.Field(i).Kind() == reflect.Struct {
				for p, l := range leaves(v.Field(i), path+".") {
					if !yield(p, l) {
						return
					}
				}
			} else if !yield(path, leaf{v.Field(i), field.Tag.Get("help")}) {
				return
			}
		}
	}
}

// assign sets a field from text. Defaults and bounds are checked later, with all fields known.
func assign(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
	default:
		v.SetString(text)
	}
	return nil
}
