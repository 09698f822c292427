//go:build linux

package uprobe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
)

// A kernel is the program in the kernel with its maps, attached to sites of one process. It is gone
// when its last descriptor is closed, also when this program dies.
type kernel struct {
	c     *ebpf.Collection
	sites *ebpf.Memory // of the map of sites, mapped
	ring  *ringbuf.Reader
	links []link.Link
}

// loadKernel loads the program, which touches no process yet.
func loadKernel(layouts, refs [][]byte) (*kernel, error) {
	c, err := ebpf.NewCollection(spec(layouts, refs))
	if err != nil {
		return nil, explain(err)
	}
	k := &kernel{c: c}
	if k.sites, err = c.Maps["sites"].Memory(); err == nil {
		k.ring, err = ringbuf.NewReader(c.Maps["ring"])
	}
	if err != nil {
		c.Close()
		return nil, explain(err)
	}
	return k, nil
}

// explain adds what the kernel lacks, or which user may use it.
func explain(err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("the kernel refuses BPF: %w; beagle-uprobe needs the capabilities CAP_BPF and CAP_PERFMON: "+
			"run it as root, or setcap cap_bpf,cap_perfmon=ep beagle-uprobe", err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("the kernel lacks what is needed: %w; Linux 6.6 or later has it (uprobe_multi, BTF)", err)
	}
	return fmt.Errorf("BPF: %w", err)
}

// attach puts probes at offsets of an executable, for one process.
func (k *kernel) attach(path string, pid int, offsets, cookies []uint64) error {
	exe, err := link.OpenExecutable(path)
	if err != nil {
		return err
	}
	l, err := exe.UprobeMulti(nil, k.c.Programs["hit"], &link.UprobeMultiOptions{Addresses: offsets, Cookies: cookies,
		PID: uint32(pid)})
	if err != nil {
		return explain(err)
	}
	k.links = append(k.links, l)
	return nil
}

// detach takes all probes away. The counters and what waits in the ring stay.
func (k *kernel) detach() error {
	var all error
	for _, l := range k.links {
		all = errors.Join(all, l.Close())
	}
	k.links = nil
	return all
}

func (k *kernel) close() {
	k.detach()
	k.ring.Close()
	k.c.Close()
}

// get reads a field of a site.
func (k *kernel) get(site, field int) uint64 {
	var b [8]byte
	if _, err := k.sites.ReadAt(b[:], int64(site*siteSize+field)); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// set writes a field of a site.
func (k *kernel) set(site, field int, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, err := k.sites.WriteAt(b[:], int64(site*siteSize+field))
	return err
}
