// Package gateway is the command gateway, to which clients of TCP connect, and which calls a server
// over RDMA for them.
package gateway
