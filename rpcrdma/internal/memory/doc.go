// Package memory has the memory of connections that the provider can reach: a [Pool] of it, and the
// [Receives] of a connection, with their memory.
package memory
