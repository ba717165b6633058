package metrics_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A server that reports to Prometheus.
func Example() {
	ctx := context.Background()
	m := metrics.New()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)

	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Interceptors: []oncrpc.ServerInterceptor{m.ServeCall},
	})
	srv.Handle(oncrpc.Program{Name: "GREET", Number: 0x20001234, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Name: "HELLO", Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.String("hello", 255)
			return nil
		}},
	}})
	m.AddServer("greetings", srv)
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{Counters: m.IWARP()})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{Counters: m.RDMA()})
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, l.Addr().String(), rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := oncrpc.NewClient(conn, 0x20001234, 1, oncrpc.AuthNone())
	for range 3 {
		if err := client.Call(ctx, 1, nil, new(greeting)); err != nil {
			log.Fatal(err)
		}
	}

	// GET /metrics returns these two lines, among others.
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).
		ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.Contains(line, "HELLO") && strings.Contains(line, "success") ||
			strings.HasPrefix(line, "rpcrdma_rdma_connections_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// rpcrdma_rdma_connections_total{provider="iwarp"} 1
	// rpcrdma_server_calls_total{outcome="success",procedure="HELLO",program="GREET",version="1"} 3
}

// greeting is string greeting<255>.
type greeting string

func (g *greeting) UnmarshalXDR(d *xdr.Decoder) { *g = greeting(d.String(255)) }
