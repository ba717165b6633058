// Package gateway takes RPC over TCP and passes it on over another transport, such as RPC-over-RDMA.
package gateway
