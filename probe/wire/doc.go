// Package wire is the language of a probe and its controller: the requests and replies, the form of
// captured calls, and the byte code of questions. The probe writes values in a subset of the record
// encoding of Beagle, so that a call without holes is a record as it is.
//
// Everything that arrives from the other side is untrusted. The readers here accept any bytes, and
// allocate in proportion to their number.
package wire
