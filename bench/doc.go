// Package bench measures the ways in which RPC-over-RDMA can move the payload of a call, inline or by chunk, over the
// providers of this module and over TCP, so that users can choose between them.
//
// A [Point] is one combination of provider, way, size, calls in flight and connections. [Run] measures those of a grid, against
// a server in another process, and the yardsticks beside them; the [Result] is data, which package bench/report
// shows as a table, CSV, JSON and charts.
package bench
