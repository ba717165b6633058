package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Monitoring is what --metrics serves: metrics and health checks.
type Monitoring struct {
	*metrics.Metrics
	Port     *HTTPPort // nil: nobody asks
	Draining atomic.Bool
}

// AddMetricsFlag defines --metrics.
func AddMetricsFlag(f *pflag.FlagSet, addr *string) {
	f.StringVar(addr, "metrics", "", "serve metrics for Prometheus by HTTP at `ADDRESS`, such as :9049, "+
		"under /metrics, and health checks under /healthz and /readyz; port 0 picks a free one")
}

// CheckMetrics finds what is wrong with --metrics.
func CheckMetrics(addr string) error {
	if addr == "" {
		return nil
	}
	return CheckAddress("--metrics", addr, "")
}

// ListenMonitoring opens the port, if there is to be one.
func ListenMonitoring(ctx context.Context, addr string, log *slog.Logger) (*Monitoring, error) {
	p, err := ListenHTTP(ctx, "--metrics", addr, log)
	return &Monitoring{Metrics: metrics.New(), Port: p}, err
}

// Interceptors are those for a server's calls. There are none without --metrics.
func (m *Monitoring) Interceptors() []oncrpc.ServerInterceptor {
	if m.Port == nil {
		return nil
	}
	return []oncrpc.ServerInterceptor{m.ServeCall}
}

// readyTime bounds the check whether a command is ready.
const readyTime = 5 * time.Second

// Serve answers until Close. ready returns, within readyTime, why the command cannot answer calls,
// or nil.
func (m *Monitoring) Serve(allowed *Allowed, ready func(context.Context) error) {
	if m.Port == nil {
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		m.Metrics,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "rpcrdma_connections_excluded_total",
			Help: "Connections that --allow refuses.",
		}, func() float64 { return float64(allowed.Excluded()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "rpcrdma_metrics_refused_total",
			Help: "Connections and requests to the port of --metrics beyond the share of their host.",
		}, func() float64 { return float64(m.Port.listener.refused.Load()) }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.Port.log.Handler(), slog.LevelWarn),
		Registry: registry, Timeout: readyTime,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	asking := make(chan struct{}, 1) // one at a time
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTime)
		defer cancel()
		select {
		case asking <- struct{}{}:
			defer func() { <-asking }()
		case <-ctx.Done():
			answer(w, ctx.Err())
			return
		}
		if m.Draining.Load() {
			answer(w, errDraining)
			return
		}
		answer(w, ready(ctx))
	})
	m.Port.Serve(timely(mux))
}

// answerTime bounds how long a client may take to read an answer. Making one takes readyTime.
const answerTime = 30 * time.Second

func timely(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
		h.ServeHTTP(w, r)
	})
}

var errDraining = fmt.Errorf("stopping: only calls under way are answered")

// answer answers a health check.
func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// Greet prints the URLs.
func (m *Monitoring) Greet(b *strings.Builder) {
	if m.Port != nil {
		fmt.Fprintf(b, "metrics on %s/metrics, whether all is well on /healthz and /readyz\n", m.Port.url())
	}
}

// Close ends it.
func (m *Monitoring) Close() { m.Port.Close() }
