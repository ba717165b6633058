// Package gateway is the command gateway: clients of TCP come in, and a server of RDMA is called.
package gateway
