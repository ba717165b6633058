// Package demo is the command demo: a server and a client in one process copy files there and back.
// Then it prints by which ways the bytes travelled: inline or by chunk.
//
// [Run] does it over any provider, in either dialect.
package demo
