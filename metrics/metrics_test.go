package metrics_test

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// rig is an NFS server over iWARP and TCP with metrics, and their registry.
type rig struct {
	t        *testing.T
	m        *metrics.Metrics
	registry *prometheus.Registry
	iwarp    string
	tcp      string
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, m: metrics.New(), registry: prometheus.NewPedanticRegistry()}
	r.registry.MustRegister(r.m)
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: "/data", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}},
		Logger:  quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: quiet, Interceptors: []oncrpc.ServerInterceptor{r.m.ServeCall},
	})
	if err := srv.Handle(nfs.Programs()...); err != nil {
		t.Fatal(err)
	}
	r.m.AddServer("main", srv)
	r.m.SetNFS(nfs)
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Counters: r.m.IWARP(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.iwarp, r.tcp = l.Addr().String(), tcp.Addr().String()
	ends := make(chan error, 2)
	go func() {
		ends <- rpcrdma.Serve(context.Background(), l, srv,
			rpcrdma.Config{Counters: r.m.RDMA(), Logger: quiet})
	}()
	go func() {
		ends <- recordmark.Serve(context.Background(), tcp, srv,
			recordmark.Config{Counters: r.m.TCP(), Logger: quiet})
	}()
	t.Cleanup(func() {
		srv.Close()
		for range 2 {
			if err := <-ends; err != oncrpc.ErrServerClosed {
				t.Error(err)
			}
		}
	})
	return r
}

// overRDMA runs f with an RDMA connection.
func (r *rig) overRDMA(f func(oncrpc.Transport)) {
	r.t.Helper()
	c, err := rpcrdma.Dial(r.t.Context(), iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}, r.iwarp,
		rpcrdma.Config{Logger: quiet})
	if err != nil {
		r.t.Fatal(err)
	}
	f(c)
	c.Close()
	<-c.Done()
}

// overTCP runs f with a TCP connection.
func (r *rig) overTCP(f func(oncrpc.Transport)) {
	r.t.Helper()
	c, err := recordmark.Dial(r.t.Context(), r.tcp, recordmark.Config{Logger: quiet})
	if err != nil {
		r.t.Fatal(err)
	}
	f(c)
	c.Close()
	<-c.Done()
}

// values returns the metrics under keys "name{label=value,...}". For histograms it returns the
// number of observations.
func (r *rig) values() map[string]float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Counter != nil:
				all[name] = m.Counter.GetValue()
			case m.Gauge != nil:
				all[name] = m.Gauge.GetValue()
			case m.Histogram != nil:
				all[name] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return all
}

// want checks some of the values.
func (r *rig) want(want map[string]float64) {
	r.t.Helper()
	got := r.values()
	for name, n := range want {
		if v, ok := got[name]; !ok || v != n {
			r.t.Errorf("%s is %v (there: %v), want %v", name, v, ok, n)
		}
	}
}

// TestMetrics runs clients over both transports and checks the metrics of what they did.
func TestMetrics(t *testing.T) {
	const size = 100_000
	r := newRig(t)
	ctx := t.Context()
	r.overRDMA(func(conn oncrpc.Transport) {
		sys, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test"})
		if err != nil {
			t.Fatal(err)
		}
		c := nfsclient.New(conn, sys, r.m.MakeCall)
		root, err := c.Mount(ctx, "/data")
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.Create(ctx, root, "file", nfs3.CreateHow{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(ctx, made.File, 0, make([]byte, size), nfs3.FileSync); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(ctx, made.File, 0, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	})
	r.overTCP(func(conn oncrpc.Transport) {
		err := oncrpc.NewClient(conn, 400_001, 1, oncrpc.AuthNone()).Call(ctx, 7, nil, nil)
		if err == nil {
			t.Error("a program that is not there answers")
		}
	})
	r.want(map[string]float64{
		"rpcrdma_rdma_connections_total{provider=iwarp}":                                               1,
		"rpcrdma_rdma_calls_total{direction=received}":                                                 4,
		"rpcrdma_rdma_bytes_total{direction=received,way=read_chunk}":                                  size,
		"rpcrdma_rdma_bytes_total{direction=sent,way=write_chunk}":                                     size,
		"rpcrdma_rdma_memory_limit_bytes{kind=chunks}":                                                 512 << 20,
		"rpcrdma_tcp_connections_total{}":                                                              1,
		"rpcrdma_tcp_calls_total{direction=received}":                                                  1,
		"rpcrdma_iwarp_connections_total{}":                                                            1,
		"rpcrdma_server_dispatched_total{server=main}":                                                 5,
		"rpcrdma_server_errors_total{server=main}":                                                     1,
		"rpcrdma_server_reply_cache_limit_bytes{server=main}":                                          16 << 20,
		"rpcrdma_nfs_clients{export=/data}":                                                            1,
		"rpcrdma_nfs_mounts_total{}":                                                                   1,
		"rpcrdma_nfs_bytes_total{direction=written,export=/data}":                                      size,
		"rpcrdma_nfs_bytes_total{direction=read,export=/data}":                                         size,
		"rpcrdma_nfs_operations_total{export=/data,procedure=WRITE}":                                   1,
		"rpcrdma_server_calls_total{outcome=success,procedure=READ,program=NFS,version=3}":             1,
		"rpcrdma_server_calls_total{outcome=prog_unavail,procedure=other,program=other,version=other}": 1,
		"rpcrdma_server_call_duration_seconds{procedure=CREATE,program=NFS,version=3}":                 1,
		"rpcrdma_client_calls_total{outcome=success,procedure=READ,program=NFS,version=3}":             1,
		"rpcrdma_client_call_duration_seconds{procedure=WRITE,program=NFS,version=3}":                  1,
	})
}

// TestNoLabelGrows: no call by a peer, however strange, adds a series.
func TestNoLabelGrows(t *testing.T) {
	r := newRig(t)
	call := func(program, version, procedure uint32) {
		r.overTCP(func(conn oncrpc.Transport) {
			_ = oncrpc.NewClient(conn, program, version, oncrpc.AuthNone()).Call(t.Context(), procedure, nil, nil)
		})
	}
	call(400_000, 1, 1)
	call(nfs3.Program, nfs3.Version, 99)
	call(nfs3.Program, 9, 1)
	before := len(r.values())
	for i := range uint32(50) {
		call(400_000+i, i, i)
		call(nfs3.Program, nfs3.Version, 100+i)
		call(nfs3.Program, 10+i, 1)
	}
	if after := len(r.values()); after != before {
		t.Errorf("%d metrics, there were %d", after, before)
	}
	r.want(map[string]float64{
		"rpcrdma_server_calls_total{outcome=proc_unavail,procedure=other,program=other,version=other}": 51,
	})
}

// TestNames checks the names against Prometheus's conventions.
func TestNames(t *testing.T) {
	r := newRig(t)
	m := r.m
	m.SCTP()
	m.ROCE()
	m.Redial()
	problems, err := testutil.GatherAndLint(r.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestPartsAreOne: asking twice returns the same counters.
func TestPartsAreOne(t *testing.T) {
	m := metrics.New()
	for _, parts := range [][2]any{
		{m.IWARP(), m.IWARP()}, {m.SCTP(), m.SCTP()}, {m.ROCE(), m.ROCE()},
		{m.RDMA(), m.RDMA()}, {m.TCP(), m.TCP()}, {m.Redial(), m.Redial()},
	} {
		if reflect.ValueOf(parts[0]).Pointer() != reflect.ValueOf(parts[1]).Pointer() {
			t.Errorf("two %T", parts[0])
		}
	}
}
