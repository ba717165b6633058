package transport

// Lengths and offsets of messages go up to 2^32-1, and an int holds them everywhere. Where an int
// has 32 bits, the build fails here, with the name of this constant, as in package xdr.
const only64BitSystemsAreSupported = 1<<63 - 1

var _ int = only64BitSystemsAreSupported
