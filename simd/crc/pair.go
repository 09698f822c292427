package crc

// A Pair keeps the two checksums of a stream that is written in buffers: Sum
// covers the last buffer, Running everything so far. Both are Castagnoli. The
// zero value is an empty stream.
type Pair struct {
	Sum     uint32
	Running uint32
}

// Write sets Sum to the checksum of b and extends Running by b, in one pass.
func (p *Pair) Write(b []byte) {
	if len(b) <= pairLimit {
		p.Sum, p.Running = pair(p.Running, b)
		return
	}
	p.Sum = update(0, b)
	p.Running = Combine(p.Running, p.Sum, int64(len(b)))
}

// A PairIEEE is a Pair with the IEEE polynomial.
type PairIEEE struct {
	Sum     uint32
	Running uint32
}

// Write sets Sum to the checksum of b and extends Running by b, in one pass.
func (p *PairIEEE) Write(b []byte) {
	if len(b) <= pairLimit {
		p.Sum, p.Running = pairIeee(p.Running, b)
		return
	}
	p.Sum = updateIeee(0, b)
	p.Running = CombineIEEE(p.Running, p.Sum, int64(len(b)))
}

// pairLimit bounds the time in which a kernel cannot be interrupted.
const pairLimit = 256 << 10

// pairGo is one pass and a multiplication.
func pairGo(running uint32, b []byte) (sum, run uint32) {
	sum = updateGo(0, b)
	return sum, Combine(running, sum, int64(len(b)))
}

func pairIeeeGo(running uint32, b []byte) (sum, run uint32) {
	sum = updateIeeeGo(0, b)
	return sum, CombineIEEE(running, sum, int64(len(b)))
}
