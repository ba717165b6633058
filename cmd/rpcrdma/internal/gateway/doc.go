// Package gateway is the command gateway: clients connect to it over TCP, and it makes their calls
// to a server over RDMA. [NewCommand] returns it.
//
// Package gateway of this module passes the calls on. This package adds the flags, the ports, and
// the search for the server's MOUNT.
package gateway
