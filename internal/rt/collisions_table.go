package rt

// collisions are pairs of strings of one length and one hash, by the hash. TestCollisions
// in collisions_test.go generates them.
var collisions = [][2]string{
	{"jpqwjcbw", "cqaobxth"}, // FNV-1
	{"lixwshef", "qcrnhazy"}, // FNV-1a
	{"dwachhbk", "mvnketla"}, // FNV-1a of 64 bits, low half
	{"gohmwfwi", "efcxsvsh"}, // FNV-1a of 64 bits, high half
	{"mhktumbm", "hwbrvggu"}, // CRC-32
	{"oilrtgpp", "ybprhiuc"}, // CRC-32C
	{"wuazcnqv", "kczwytra"}, // Adler-32
	{"qujyurro", "xpoqpwkw"}, // times 33 plus
	{"uekodwrz", "wwaedtnu"}, // times 33 xor
	{"cfkxaqbp", "rosyduke"}, // times 31 plus
	{"sjwqhxzx", "fhrvyien"}, // times 65599 plus
	{"qbfnaata", "ekezdykt"}, // one at a time
}
