// Package dirfs is a directory of the host.
package dirfs
