package tagger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Labels are the labels, or annotations, that become tags, by their names; the value is the tag's
// name.
type Labels map[string]string

// ParseLabels reads a list as people write it: names separated by commas, each perhaps with the
// name of its tag after an equals sign, as app.kubernetes.io/name=app,team.
func ParseLabels(list string) (Labels, error) {
	l := Labels{}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		label, named, ok := strings.Cut(item, "=")
		if !ok {
			named = label
		}
		label, named = strings.TrimSpace(label), strings.TrimSpace(named)
		if label == "" || named == "" {
			return nil, fmt.Errorf("%q names no label or no tag; write label or label=tag", item)
		}
		l[label] = named
	}
	return l, nil
}

// Tags returns the tags of the listed labels, sorted.
func (l Labels) Tags(labels map[string]string) (tags []string) {
	for _, label := range slices.Sorted(maps.Keys(l)) {
		if value, ok := labels[label]; ok {
			tags = Add(tags, l[label], value)
		}
	}
	slices.Sort(tags)
	return tags
}

// maxValue bounds a tag's value: annotations hold whole documents.
const maxValue = 200

// Add adds a tag unless its value is empty. People write the values of APIs, so it removes control
// characters and cuts long ones.
func Add(tags []string, name, value string) []string {
	value = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, value)
	for len(value) > maxValue {
		_, size := utf8.DecodeLastRuneInString(value)
		value = value[:len(value)-size]
	}
	if value = strings.TrimSpace(value); value == "" {
		return tags
	}
	return append(tags, name+":"+value)
}

// Image adds the tags of a container's image: its name, the last part of the name, and the part
// after the colon. It leaves out a digest, which is no name that people know.
func Image(tags []string, image string) []string {
	image, _, _ = strings.Cut(image, "@")
	if image == "" || strings.HasPrefix(image, "sha256:") {
		return tags
	}
	name, version := image, ""
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		name, version = image[:i], image[i+1:]
	}
	tags = Add(tags, "image_name", name)
	tags = Add(tags, "short_image", name[strings.LastIndexByte(name, '/')+1:])
	return Add(tags, "image_tag", version)
}
