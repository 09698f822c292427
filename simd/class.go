package simd

import "unsafe"

// TagValid reports whether every byte of b is one of a-z, 0-9, _ : . / and -.
// The empty tag is valid.
func TagValid(b []byte) bool { return tagIndex(b) == len(b) }

// TagValidString is TagValid for a string.
func TagValidString(s string) bool { return tagIndexString(s) == len(s) }

// IndexNonTag returns the index of the first byte of b that no tag may hold, or -1.
func IndexNonTag(b []byte) int { return orMinusOne(tagIndex(b), len(b)) }

// IndexNonTagString is IndexNonTag for a string.
func IndexNonTagString(s string) int { return orMinusOne(tagIndexString(s), len(s)) }

// IndexInvalidTag returns the index of the first element of tags that TagValid
// rejects, or -1. One kernel call checks many tags.
func IndexInvalidTag(tags []string) int {
	for i := 0; i < len(tags); i++ {
		// The kernel stops at a bad tag or when it has run long enough.
		i += tagsIndex(tags[i:])
		if i < len(tags) && !TagValidString(tags[i]) {
			return i
		}
	}
	return -1
}

func tagsIndexGo(tags []string) int {
	for i, t := range tags {
		if tagIndexGo(unsafe.Slice(unsafe.StringData(t), len(t))) != len(t) {
			return i
		}
	}
	return len(tags)
}

// tagTable has 1 for the bytes of a tag.
var tagTable = func() (t [256]uint8) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789_:./-") {
		t[c] = 1
	}
	return t
}()

// tagIndexGo tests eight bytes per branch.
func tagIndexGo(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := b[i : i+8 : i+8]
		if tagTable[w[0]]&tagTable[w[1]]&tagTable[w[2]]&tagTable[w[3]]&tagTable[w[4]]&tagTable[w[5]]&tagTable[w[6]]&
			tagTable[w[7]] == 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if tagTable[b[i]] == 0 {
			return i
		}
	}
	return len(b)
}

// A Class is a set of bytes. Its zero value is the empty set. A Class is
// immutable once made and safe for concurrent use.
type Class struct {
	rows  [32]uint8 // row l, bit h: byte 16h+l is a member; high nibbles from 8 on in the second half
	table [256]uint8
}

// NewClass returns the class of the bytes of members.
func NewClass(members string) *Class {
	c := new(Class)
	for i := range len(members) {
		c.add(members[i])
	}
	return c
}

// NewClassTable returns the class of the bytes with a true entry.
func NewClassTable(members *[256]bool) *Class {
	c := new(Class)
	for i, in := range members {
		if in {
			c.add(byte(i))
		}
	}
	return c
}

func (c *Class) add(m byte) {
	c.rows[m>>7<<4|m&15] |= 1 << (m >> 4 & 7)
	c.table[m] = 1
}

// Contains reports whether m is a member.
func (c *Class) Contains(m byte) bool { return c.table[m] != 0 }

// All reports whether every byte of b is a member.
func (c *Class) All(b []byte) bool { return classIndex(b, &c.rows) == len(b) }

// AllString is All for a string.
func (c *Class) AllString(s string) bool { return classIndexString(s, &c.rows) == len(s) }

// IndexNot returns the index of the first byte of b that is no member, or -1.
func (c *Class) IndexNot(b []byte) int { return orMinusOne(classIndex(b, &c.rows), len(b)) }

// IndexNotString is IndexNot for a string.
func (c *Class) IndexNotString(s string) int {
	return orMinusOne(classIndexString(s, &c.rows), len(s))
}

// classIndexGo looks each byte up in the bitmap.
func classIndexGo(b []byte, rows *[32]uint8) int {
	for i, m := range b {
		if rows[m>>7<<4|m&15]>>(m>>4&7)&1 == 0 {
			return i
		}
	}
	return len(b)
}
