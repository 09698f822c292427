package harness

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// retarget makes an archive that was compiled against one build of a package
// link with another build of it. Objects refer to other packages' symbols by
// index, and the linker compares fingerprints to make sure that the indexes
// mean the same. Here every such reference is resolved again by name, and the
// fingerprint is replaced.
//
// That is sound because the main package knows little of the target's: the
// types of arguments and results, which are the same text in every batch, and
// BeagleHarness, which is not inlined. Any other reference is refused.
func retarget(archive []byte, pkg string, target []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("%w: %v", errObject, r)
		}
	}()
	// Read both objects, and find for each symbol that the archive names its index in the new
	// package.
	to, err := readObject(target)
	if err != nil {
		return nil, err
	}
	out = slices.Clone(archive)
	o, err := readObject(out)
	if err != nil {
		return nil, err
	}
	self := o.packageIndex(pkg)
	index, err := o.translation(self, to)
	if err != nil {
		return nil, err
	}
	// Replace the fingerprint, and each reference by index.
	if !o.setFingerprint(pkg, to.b[len(objMagic):len(objMagic)+8]) {
		return nil, fmt.Errorf("%w: the import of %s is missing", errObject, pkg)
	}
	for _, r := range []struct{ block, size, at uint32 }{{blkReloc, relocSize, 15}, {blkAux, 9, 1},
		{blkRefFlags, 10, 0}, {blkRefName, 16, 0}} {
		for k := range uint32(o.count(int(r.block), r.size)) {
			at := o.block[r.block] + k*r.size + r.at
			ref := symRef{o.u32(at), o.u32(at + 4)}
			if n, ok := index[ref]; ok {
				binary.LittleEndian.PutUint32(o.b[at+4:], n)
			} else if ref.pkg == self && self != 0 {
				return nil, fmt.Errorf("%w: a reference without a name", errObject)
			}
		}
	}
	return out, nil
}

// packageIndex returns the object's index for a package; 0 if it has none.
func (o *object) packageIndex(pkg string) uint32 {
	for k := 1; k < o.pkgs; k++ {
		if unescape(o.str(o.block[blkPkgIdx]+uint32(k)*8)) == pkg {
			return uint32(k)
		}
	}
	return 0
}

var escapes = strings.NewReplacer("%2e", ".", "%22", `"`, "%25", "%")

// unescape undoes what symbol names do to import paths.
func unescape(path string) string { return escapes.Replace(path) }

// translation maps the references to a package to that package's new indexes.
func (o *object) translation(pkg uint32, to *object) (map[symRef]uint32, error) {
	have := map[string]uint32{}
	for i := range to.count(blkSymdef, symSize) {
		have[to.symbol(i).name] = uint32(i)
	}
	index := map[symRef]uint32{}
	for ref, name := range o.names {
		if ref.pkg != pkg {
			continue
		}
		n, ok := have[name]
		if !ok || !strings.HasPrefix(name, "type:") && !strings.HasSuffix(name, ".BeagleHarness") &&
			!strings.HasSuffix(name, "..inittask") {
			return nil, fmt.Errorf("%w: reference to %s", errObject, name)
		}
		index[ref] = n
	}
	return index, nil
}

func (o *object) setFingerprint(pkg string, fingerprint []byte) bool {
	for k := range uint32(o.count(blkAutolib, 16)) {
		at := o.block[blkAutolib] + k*16
		if unescape(o.str(at)) == pkg {
			copy(o.b[at+8:], bytes.Clone(fingerprint))
			return true
		}
	}
	return false
}
