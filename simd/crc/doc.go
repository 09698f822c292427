// Package crc computes CRC-32C (Castagnoli) and CRC-32 (IEEE) faster than
// hash/crc32, combines checksums, and computes the checksum of a buffer and of
// the stream that it continues in one pass.
//
// # Why doing the work twice beat clever mathematics, and what beats both
//
// A writer that keeps two checksums, one of each buffer and one of everything
// so far, can compute them like this:
//
//	sum = crc32.Checksum(buf, table)
//	running = crc32.Update(running, table, buf)
//
// That reads the buffer twice. There is an identity that avoids it,
//
//	crc(a ‖ b) = crc(a)·x^(8·len(b)) + crc(b)
//
// over polynomials modulo the CRC's, but the well-known way to use it squares
// 32x32 bit matrices until they stand for len(b) zero bytes. That takes 4 to
// 10 microseconds whatever the length, while the second pass over 1 KiB in the
// first-level cache takes 50 nanoseconds. So the two passes won: by 75 times
// at 1 KiB, still by 9 at 16 KiB.
//
// The identity was right and the matrix was the mistake. The factor x^(8·n)
// depends on n alone; multiplying by it is linear in the 32 bits of the
// checksum, so four lookups in a table of 4 KiB do it, one table for each
// non-zero hex digit of n. [Combine] takes nanoseconds, and one pass plus
// Combine is twice as fast as two passes, in plain Go, on every machine.
//
// With carry-less multiplication both parts get faster: the pass folds 64
// bytes per instruction, the factor takes one product per non-zero byte of n
// and does not wait for the data. [Pair] is that.
//
// A stream of buffers of one size needs even less: a [Block] is the table for
// that size, and its Combine is inlined.
//
// Carrying both states through one pass, the obvious fused loop, gains
// nothing: the unit that computes the CRC is what two passes wait for as well.
package crc
