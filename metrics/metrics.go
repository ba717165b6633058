package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// Metrics is a prometheus.Collector of the counters of the layers. Its parts may be asked for at
// any time, also after it is registered.
type Metrics struct {
	served, made, passed *calls

	mu      sync.Mutex // guards what follows
	iwarp   *iwarp.Counters
	sctp    *sctp.Counters
	roce    *roce.Counters
	rdma    *rpcrdma.Counters
	tcp     *recordmark.Counters
	redial  *redial.Counters
	servers []server
	nfs     *nfsserver.Server
	gss     *gss.ServerFlavor
	gateway *gateway.Gateway
}

// server is a server with its name.
type server struct {
	name string
	*oncrpc.Server
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns Metrics without any parts yet.
func New() *Metrics {
	const sampled = ": of each procedure the first 4096, then one in 32"
	return &Metrics{
		served: newCalls("server", sampled), made: newCalls("client", sampled),
		passed: newCalls("gateway", ""),
	}
}

// part returns counters. It makes them the first time.
func part[C any](m *Metrics, c **C) *C {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *c == nil {
		*c = new(C)
	}
	return *c
}

// IWARP returns the counters for iwarp.Config.Counters.
func (m *Metrics) IWARP() *iwarp.Counters { return part(m, &m.iwarp) }

// SCTP returns the counters for sctp.Config.Counters.
func (m *Metrics) SCTP() *sctp.Counters { return part(m, &m.sctp) }

// ROCE returns the counters for roce.Config.Counters.
func (m *Metrics) ROCE() *roce.Counters { return part(m, &m.roce) }

// RDMA returns the counters for rpcrdma.Config.Counters, of servers and clients.
func (m *Metrics) RDMA() *rpcrdma.Counters { return part(m, &m.rdma) }

// TCP returns the counters for recordmark.Config.Counters, of servers and clients.
func (m *Metrics) TCP() *recordmark.Counters { return part(m, &m.tcp) }

// Redial returns the counters for redial.Config.Counters.
func (m *Metrics) Redial() *redial.Counters { return part(m, &m.redial) }

// AddServer adds a server, under a name that no other server has. ServeCall counts its calls.
func (m *Metrics) AddServer(name string, s *oncrpc.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers = append(m.servers, server{name, s})
}

// SetNFS sets the NFS server. There can be one.
func (m *Metrics) SetNFS(s *nfsserver.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nfs = s
}

// SetGSS sets the RPCSEC_GSS flavour of servers. There can be one.
func (m *Metrics) SetGSS(f *gss.ServerFlavor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gss = f
}

// SetGateway sets the gateway. There can be one.
func (m *Metrics) SetGateway(g *gateway.Gateway) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gateway = g
}

var (
	tables = []*table{
		iwarpTable, sctpTable, roceTable, rdmaTable, tcpTable, redialTable, serverTable, nfsTable,
		gssTable, gatewayTable,
	}

	replyMemory = prometheus.NewDesc("rpcrdma_server_reply_cache_bytes",
		"Memory of the reply cache in bytes.", []string{"server"}, nil)
	replyLimit = prometheus.NewDesc("rpcrdma_server_reply_cache_limit_bytes",
		"Limit of rpcrdma_server_reply_cache_bytes.", []string{"server"}, nil)
	connsBegan = prometheus.NewDesc("rpcrdma_rdma_connections_total",
		"Connections that began.", []string{"provider"}, nil)
	connsEnded = prometheus.NewDesc("rpcrdma_rdma_connections_ended_total",
		"Connections that ended, by how.", []string{"provider", "end"}, nil)
	nfsCalls = prometheus.NewDesc("rpcrdma_nfs_operations_total",
		"NFS calls for an export, by procedure.", []string{"export", "procedure"}, nil)
	nfsFailed = prometheus.NewDesc("rpcrdma_nfs_errors_total",
		"NFS calls for an export that failed, by status.", []string{"export", "status"}, nil)
	nfsUp = prometheus.NewDesc("rpcrdma_nfs_export_up",
		"0 if the root of the export could not be read the last time, otherwise 1.", []string{"export"}, nil)
	nfsClients = prometheus.NewDesc("rpcrdma_nfs_clients",
		"Hosts that have mounted the export, as far as MOUNT knows.", []string{"export"}, nil)
	nfsBytes = prometheus.NewDesc("rpcrdma_nfs_bytes_total",
		"Bytes read and written by READ and WRITE.", []string{"export", "direction"}, nil)
	further = []*prometheus.Desc{
		replyMemory, replyLimit, connsBegan, connsEnded, nfsCalls, nfsFailed, nfsUp, nfsClients, nfsBytes,
	}
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, t := range tables {
		t.describe(ch)
	}
	for _, d := range further {
		ch <- d
	}
	for _, c := range []*calls{m.served, m.made, m.passed} {
		c.describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range []*calls{m.served, m.made, m.passed} {
		c.collect(ch)
	}
	if m.iwarp != nil {
		iwarpTable.collect(ch, m.iwarp.Stats())
	}
	if m.sctp != nil {
		sctpTable.collect(ch, m.sctp.Stats())
	}
	if m.roce != nil {
		roceTable.collect(ch, m.roce.Stats())
	}
	if m.rdma != nil {
		totals := m.rdma.Totals()
		rdmaTable.collect(ch, totals)
		collectConns(ch, totals.Conns)
	}
	if m.tcp != nil {
		tcpTable.collect(ch, m.tcp.Stats())
	}
	if m.redial != nil {
		redialTable.collect(ch, m.redial.Stats())
	}
	for _, s := range m.servers {
		serverTable.collect(ch, s.Stats(), s.name)
		kept, limit := s.ReplyMemory()
		ch <- gauge(replyMemory, float64(kept), s.name)
		ch <- gauge(replyLimit, float64(limit), s.name)
	}
	if m.nfs != nil {
		nfsTable.collect(ch, m.nfs.Stats())
		collectExports(ch, m.nfs.ExportStats())
	}
	if m.gss != nil {
		gssTable.collect(ch, m.gss.Stats())
	}
	if m.gateway != nil {
		gatewayTable.collect(ch, m.gateway.Stats())
	}
}

// collectConns sends the numbers of connections by provider.
func collectConns(ch chan<- prometheus.Metric, conns map[string]rpcrdma.ConnTotals) {
	for provider, c := range conns {
		ch <- counter(connsBegan, c.Began, provider)
		for end, n := range c.Ended {
			ch <- counter(connsEnded, n, provider, string(end))
		}
	}
}

// collectExports sends the metrics of the exports. It leaves out procedures and statuses that have
// not occurred.
func collectExports(ch chan<- prometheus.Metric, exports []nfsserver.ExportStats) {
	for _, x := range exports {
		up := 1.0
		if x.Gone {
			up = 0
		}
		ch <- gauge(nfsUp, up, x.Path)
		ch <- gauge(nfsClients, float64(x.Clients), x.Path)
		ch <- counter(nfsBytes, x.BytesRead, x.Path, "read")
		ch <- counter(nfsBytes, x.BytesWritten, x.Path, "written")
		for p, n := range x.Calls {
			if n > 0 {
				ch <- counter(nfsCalls, n, x.Path, nfs3.Proc(p).String())
			}
		}
		for status, n := range x.Failed {
			ch <- counter(nfsFailed, n, x.Path, status.String())
		}
	}
}

func counter(d *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
