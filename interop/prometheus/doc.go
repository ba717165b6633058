// Package prometheus has a real Prometheus scrape rpcrdma serve, evaluate the rules in deploy, and
// answer the queries of the dashboard there. The tests have the build tag interop, and need
// Debian's prometheus.
package prometheus
