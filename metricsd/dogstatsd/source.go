package dogstatsd

import (
	"bytes"
	"strconv"
	"strings"
)

// common reads a field that all kinds of messages share: tags, container, external data and
// cardinality. It skips unknown fields.
func (p *Parser) common(c *cursor, s *Source, warnings []*SyntaxError) []*SyntaxError {
	if v, ok := c.after("#"); ok {
		p.readTags(v)
	} else if v, ok := c.after("c:"); ok {
		return append(warnings, p.readLocal(c, v, s)...)
	} else if v, ok := c.after("e:"); ok {
		return append(warnings, p.readExternal(c, v, s)...)
	} else if v, ok := c.after("card:"); ok {
		s.Cardinality = parseCardinality(v)
	}
	return warnings
}

// readTags fills p.tags and p.hashes; a later field replaces an earlier one.
func (p *Parser) readTags(list []byte) {
	p.resetTags()
	for item := range bytes.SplitSeq(list, []byte(",")) {
		if len(item) > 0 {
			tag := p.interner.intern(item)
			p.tags, p.hashes = append(p.tags, tag.text), append(p.hashes, tag.hash)
			p.internal = p.internal || tag.internal
		}
	}
}

func (p *Parser) resetTags() {
	p.tags, p.hashes, p.internal = p.tags[:0], p.hashes[:0], false
}

// isInternal reports whether takeInternal removes a tag, at least if the line has no cardinality.
func isInternal(tag string) bool {
	return strings.HasPrefix(tag, "host:") || strings.HasPrefix(tag, "dd.internal.")
}

// readLocal reads the list of `c:`. The oldest clients send a bare container
// id, later ones cid-<id>, today's ci-<id>, in-<inode> or both.
func (p *Parser) readLocal(c *cursor, list []byte, s *Source) (warnings []*SyntaxError) {
	s.ContainerID, s.Inode = "", 0
	offset := c.start + len("c:")
	for item := range bytes.SplitSeq(list, []byte(",")) {
		if inode, ok := bytes.CutPrefix(item, []byte("in-")); ok {
			n, err := strconv.ParseUint(string(inode), 10, 64)
			if err != nil {
				warnings = append(warnings,
					c.fail(offset, "inode "+quote(inode)+" is not a number", "write in-<cgroup inode>"))
			}
			s.Inode = n
		} else if len(item) > 0 {
			s.ContainerID = p.interner.String(containerID(item))
		}
		offset += len(item) + 1
	}
	return warnings
}

func containerID(item []byte) []byte {
	if id, ok := bytes.CutPrefix(item, []byte("ci-")); ok {
		return id
	}
	return bytes.TrimPrefix(item, []byte("cid-"))
}

// readExternal reads the list of `e:`. It skips parts with unknown prefixes, which are for later
// versions.
func (p *Parser) readExternal(c *cursor, list []byte, s *Source) (warnings []*SyntaxError) {
	s.Init, s.Container, s.PodUID = false, "", ""
	offset := c.start + len("e:")
	for item := range bytes.SplitSeq(list, []byte(",")) {
		if v, ok := bytes.CutPrefix(item, []byte("it-")); ok {
			init, err := strconv.ParseBool(string(v))
			if err != nil {
				warnings = append(warnings,
					c.fail(offset, quote(v)+" is neither true nor false", "write it-true or it-false"))
			}
			s.Init = init
		} else if v, ok := bytes.CutPrefix(item, []byte("cn-")); ok {
			s.Container = p.interner.String(v)
		} else if v, ok := bytes.CutPrefix(item, []byte("pu-")); ok {
			s.PodUID = p.interner.String(v)
		}
		offset += len(item) + 1
	}
	return warnings
}

// takeInternal moves the tags about the source into s and returns the other tags, whose hashes stay
// in p.hashes. A cardinality from the field wins; then the tag stays a tag.
func (p *Parser) takeInternal(s *Source) []string {
	if !p.internal {
		return p.tags
	}
	explicit := s.Cardinality != CardinalityUnset
	kept, hashes := p.tags[:0], p.hashes[:0]
	for i, tag := range p.tags {
		if host, ok := strings.CutPrefix(tag, "host:"); ok {
			s.Host, s.HostSet = host, true
		} else if id, ok := strings.CutPrefix(tag, "dd.internal.entity_id:"); ok {
			s.EntityID = id
		} else if name, ok := strings.CutPrefix(tag, "dd.internal.jmx_check_name:"); ok {
			s.JMXCheck = name
		} else if word, ok := strings.CutPrefix(tag, "dd.internal.card:"); ok && !explicit {
			s.Cardinality = parseCardinality([]byte(word))
		} else {
			kept, hashes = append(kept, tag), append(hashes, p.hashes[i])
		}
	}
	p.hashes = hashes
	return kept
}
