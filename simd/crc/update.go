package crc

import "hash/crc32"

//go:generate go run ../cmd/simdgen gen -rust ../kernels/crc/lib.rs

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Update returns the Castagnoli checksum (CRC-32C) of what crc already covers
// followed by b. Start with 0. It equals hash/crc32's Update.
func Update(crc uint32, b []byte) uint32 { return update(crc, b) }

// UpdateString is Update for a string.
func UpdateString(crc uint32, s string) uint32 { return updateString(crc, s) }

// UpdateIEEE is Update for the IEEE polynomial, the one of zip and Ethernet.
func UpdateIEEE(crc uint32, b []byte) uint32 { return updateIeee(crc, b) }

// UpdateIEEEString is UpdateIEEE for a string.
func UpdateIEEEString(crc uint32, s string) uint32 { return updateIeeeString(crc, s) }

func updateGo(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

func updateIeeeGo(crc uint32, b []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, b) }
