// Package prometheus tests the metrics with a real Prometheus: it scrapes rpcrdma serve, evaluates
// the rules in deploy, and answers the queries of the dashboard there.
//
//	go test -tags interop ./interop/prometheus
//
// The tests need Debian's prometheus.
package prometheus
