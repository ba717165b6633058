// Package daemon is what the commands have in common that run until they are told to end: logs,
// metrics and debugging over HTTP, who may connect, and how many.
package daemon
