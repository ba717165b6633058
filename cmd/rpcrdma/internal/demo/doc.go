// Package demo is the command demo: a server and a client in one process copy files there and back,
// and it prints by which ways the bytes have travelled.
package demo
