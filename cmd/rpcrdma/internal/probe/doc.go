// Package probe is the commands that find out about a server: ping calls it, conf asks for its
// CONF_RDMA, and probe goes through the steps of a mount, names the cause where one fails, and says
// what to do.
package probe
