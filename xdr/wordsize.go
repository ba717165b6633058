package xdr

// Lengths and positions in a stream, window sizes and user IDs go up to 2^32-1, and an int holds
// them everywhere. Where an int has 32 bits, the build fails here, with the name of this constant.
// Package transport does the same for providers, which do not import this package.
const only64BitSystemsAreSupported = 1<<63 - 1

var _ int = only64BitSystemsAreSupported
