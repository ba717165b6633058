package metrics

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rpcrdma/go-rpcrdma/gateway"
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

// row maps a field of a layer's statistics to a metric.
type row struct {
	field string
	name  string // without rpcrdma_ and the layer; counters end in _total
	label string // "name=value", or ""
	help  string // in the first row of a name
}

// The tables of the layers. Rows of the same name are adjacent.
var (
	iwarpTable = newTable[iwarp.Stats]("iwarp", []row{
		{"Connections", "connections_total", "", "Connections that were set up."},
		{"HandshakeFailures", "startup_failures_total", "reason=failed",
			"Connections that could not be set up, on either side, by reason."},
		{"Rejected", "startup_failures_total", "reason=rejected", ""},
		{"Dropped", "startup_failures_total", "reason=crowded", ""},
		{"TerminatesSent", "terminates_total", "direction=sent", "RDMAP Terminate messages."},
		{"TerminatesReceived", "terminates_total", "direction=received", ""},
		{"CRCErrors", "faults_total", "reason=crc",
			"Connections that ended because of a fault of the peer, by reason."},
		{"MarkerErrors", "faults_total", "reason=marker", ""},
		{"Stalls", "faults_total", "reason=stalled", ""},
	})
	sctpTable = newTable[sctp.Stats]("sctp", []row{
		{"Associations", "associations_total", "", "Associations that were made."},
		{"Lost", "associations_lost_total", "", "Associations that ended without a shutdown (by an abort: while they had sessions)."},
		{"Sessions", "sessions_total", "", "DDP stream sessions that were set up."},
		{"Refused", "refusals_total", "reason=room",
			"Associations and sessions that were refused, by reason."},
		{"Indications", "refusals_total", "reason=indication", ""},
		{"Pending", "refusals_total", "reason=pending", ""},
		{"Violations", "faults_total", "reason=violation",
			"Sessions that ended because of a fault of the peer, by reason."},
		{"Overruns", "faults_total", "reason=overrun", ""},
		{"BadPackets", "packets_dropped_total", "reason=bad", "Packets that were discarded, by reason."},
		{"OutOfTheBlue", "packets_dropped_total", "reason=unknown", ""},
		{"Dropped", "chunks_dropped_total", "reason=room", "Chunks that were discarded, by reason."},
		{"ExcessSacks", "chunks_dropped_total", "reason=sack", ""},
	})
	roceTable = newTable[roce.Stats]("roce", []row{
		{"Connections", "connections_total", "", "Connections that were set up."},
		{"SetupFailures", "setup_failures_total", "", "Connections that could not be set up, on either side."},
		{"Rejected", "rejections_total", "", "Requests that were refused, on either side."},
		{"Refused", "rejections_crowded_total", "",
			"Connection requests for which a listener had no room; also counted as rejections."},
		{"PacketsSent", "packets_total", "direction=sent",
			"Packets of connections, including acknowledgements."},
		{"PacketsReceived", "packets_total", "direction=received", ""},
		{"Retransmitted", "packets_retransmitted_total", "", "Packets of requests that were sent again."},
		{"Timeouts", "timeouts_total", "", "Retransmission timeouts."},
		{"NAKsSent", "naks_total", "direction=sent,reason=error",
			"Negative acknowledgements, by reason."},
		{"NAKsReceived", "naks_total", "direction=received,reason=error", ""},
		{"RNRsSent", "naks_total", "direction=sent,reason=not_ready", ""},
		{"RNRsReceived", "naks_total", "direction=received,reason=not_ready", ""},
		{"CNPsSent", "congestion_notices_total", "direction=sent", "Congestion notification packets (CNP)."},
		{"CNPsReceived", "congestion_notices_total", "direction=received", ""},
		{"Duplicates", "packets_dropped_total", "reason=duplicate", "Packets that were discarded, by reason."},
		{"OutOfSequence", "packets_dropped_total", "reason=out_of_sequence", ""},
		{"BadPackets", "packets_dropped_total", "reason=bad", ""},
		{"Strays", "packets_dropped_total", "reason=unknown", ""},
		{"Dropped", "packets_dropped_total", "reason=crowded", ""},
	})
	rdmaTable = newTable[rpcrdma.Totals]("rdma", []row{
		{"CallsSent", "calls_total", "direction=sent", "RPC calls over RDMA."},
		{"CallsReceived", "calls_total", "direction=received", ""},
		{"Cancelled", "calls_cancelled_total", "",
			"Calls from this side that were given up before their reply."},
		{"LateReplies", "late_replies_total", "", "Replies to calls that were given up."},
		{"UnknownXID", "faults_total", "reason=unknown_xid",
			"Messages from peers that were discarded, by reason."},
		{"Malformed", "faults_total", "reason=malformed", ""},
		{"BadVersion", "faults_total", "reason=version", ""},
		{"Unserved", "faults_total", "reason=unserved", ""},
		{"DonesIgnored", "faults_total", "reason=stray_done", ""},
		{"Exceeded", "faults_total", "reason=credits", ""},
		{"ErrorsSent", "errors_total", "direction=sent", "RDMA_ERROR messages."},
		{"ErrorsRecv", "errors_total", "direction=received", ""},
		{"DonesSent", "dones_total", "direction=sent", "RDMA_DONE messages (draft dialect)."},
		{"DonesReceived", "dones_total", "direction=received", ""},
		{"DonesMissed", "dones_missed_total", "",
			"Replies whose memory was freed without an RDMA_DONE (draft dialect)."},
		{"Padded", "padded_total", "", "RDMA_MSGP messages received (draft dialect)."},
		{"Withheld", "replies_withheld_total", "",
			"Replies that waited for RDMA_DONEs of earlier replies (draft dialect)."},
		{"Waited", "memory_waits_total", "what=call", "Waits for memory, by what waited."},
		{"HeldUp", "memory_waits_total", "what=connection", ""},
		{"TooLong", "replies_too_long_total", "", "Replies that did not fit the room that the caller offered."},
		{"InlineSent", "bytes_total", "direction=sent,way=inline",
			"Bytes of RPC messages, by the way they travelled."},
		{"InlineReceived", "bytes_total", "direction=received,way=inline", ""},
		{"ReadChunkSent", "bytes_total", "direction=sent,way=read_chunk", ""},
		{"ReadChunkReceived", "bytes_total", "direction=received,way=read_chunk", ""},
		{"WriteChunkSent", "bytes_total", "direction=sent,way=write_chunk", ""},
		{"WriteChunkReceived", "bytes_total", "direction=received,way=write_chunk", ""},
		{"ReplyChunkSent", "bytes_total", "direction=sent,way=reply_chunk", ""},
		{"ReplyChunkReceived", "bytes_total", "direction=received,way=reply_chunk", ""},
		{"Exposed", "registrations_total", "", "Memory registrations that a peer could access."},
		{"CreditWaits", "credit_waits_total", "", "Calls from this side that had to wait for a credit."},
		{"Refused", "connections_refused_total", "",
			"Connections that were refused because there was no memory for receives."},
		{"CreditsGranted", "credits", "state=granted", "Credits for calls from this side, granted and in use."},
		{"CreditsInUse", "credits", "state=used", ""},
		{"CreditsWaiting", "calls_waiting", "", "Calls from this side that wait for a credit."},
		{"CreditsGiven", "credits_given", "", "Credits granted to peers."},
		{"Serving", "calls_serving", "", "Calls from peers under way."},
		{"Memory", "memory_bytes", "kind=chunks", "Memory in use by connections of servers, in bytes."},
		{"ReceiveMemory", "memory_bytes", "kind=receives", ""},
		{"MemoryLimit", "memory_limit_bytes", "kind=chunks", "Limits of rpcrdma_rdma_memory_bytes."},
		{"ReceiveMemoryLimit", "memory_limit_bytes", "kind=receives", ""},
	})
	tcpTable = newTable[recordmark.Stats]("tcp", []row{
		{"RecordsIn", "records_total", "direction=received", "Records of RPC over TCP."},
		{"RecordsOut", "records_total", "direction=sent", ""},
		{"BytesIn", "bytes_total", "direction=received",
			"Bytes of records of RPC over TCP, without record marks."},
		{"BytesOut", "bytes_total", "direction=sent", ""},
		{"Calls", "calls_total", "direction=sent", "RPC calls over TCP."},
		{"Served", "calls_total", "direction=received", ""},
		{"Cancelled", "calls_cancelled_total", "",
			"Calls from this side that were given up before their reply."},
		{"StrayReplies", "faults_total", "reason=stray_reply", "Records discarded, and starts of TLS that failed, by reason."},
		{"BadRecords", "faults_total", "reason=bad_record", ""},
		{"BadHandshakes", "faults_total", "reason=bad_handshake", ""},
		{"Conns", "connections_total", "", "Connections that began."},
		{"Closed", "connections_ended_total", "end=closed", "Connections that ended, by how."},
		{"Stalled", "connections_ended_total", "end=stalled", ""},
		{"Lost", "connections_ended_total", "end=failed", ""},
		{"Memory", "memory_bytes", "", "Memory in use by connections of servers, in bytes."},
		{"MemoryLimit", "memory_limit_bytes", "", "Limit of rpcrdma_tcp_memory_bytes."},
	})
	redialTable = newTable[redial.Stats]("redial", []row{
		{"Connected", "connections_total", "", "Connections made, first ones and reconnects."},
		{"Failures", "failures_total", "", "Attempts to connect that failed."},
		{"Lost", "connections_lost_total", "", "Connections that ended before they were closed."},
		{"Stalled", "connections_stalled_total", "",
			"Connections closed because no replies came; also counted as lost."},
		{"Outages", "outages_total", "", "Times without a connection that a call noticed."},
		{"Waited", "calls_waited_total", "", "Calls that waited for a connection."},
		{"Repeated", "calls_repeated_total", "", "Calls that were sent again over another connection."},
	})
	serverTable = newTable[oncrpc.ServerStats]("server", []row{
		{"Calls", "dispatched_total", "", "Calls that came to the server."},
		{"Errors", "errors_total", "", "Calls answered with another status than SUCCESS."},
		{"Panics", "panics_total", "", "Handlers that panicked."},
		{"Dropped", "dropped_total", "", "Calls that were not answered."},
		{"Replayed", "replayed_total", "", "Calls answered from the reply cache."},
		{"Forwarded", "forwarded_total", "", "Calls forwarded, as by a gateway."},
		{"InFlight", "in_flight", "", "Calls that are being executed or answered."},
		{"Conns", "connections", "", "Open connections."},
		{"Refused", "connections_refused_total", "reason=address", "Connections that were refused, by reason."},
		{"TooMany", "connections_refused_total", "reason=too_many", ""},
	}, "server")
	nfsTable = newTable[nfsserver.Stats]("nfs", []row{
		{"Mounts", "mounts_total", "", "Handles that MNT gave out."},
		{"Refused", "refusals_total", "reason=address",
			"Calls and mounts that were refused, or had an invalid handle, by reason."},
		{"NoExport", "refusals_total", "reason=no_export", ""},
		{"Denied", "refusals_total", "reason=permission", ""},
		{"ReadOnly", "refusals_total", "reason=read_only", ""},
		{"BadHandles", "refusals_total", "reason=bad_handle", ""},
		{"StaleHandles", "refusals_total", "reason=stale_handle", ""},
	})
	gssTable = newTable[gss.ServerStats]("gss", []row{
		{"Contexts", "contexts", "state=made", "RPCSEC_GSS contexts, complete and half made."},
		{"HalfMade", "contexts", "state=half_made", ""},
		{"Made", "contexts_made_total", "", "Contexts that were made."},
		{"Refused", "contexts_refused_total", "", "Contexts that could not be made; the log says why."},
		{"Expired", "contexts_ended_total", "reason=expired", "Contexts that have ended, by reason."},
		{"Evicted", "contexts_ended_total", "reason=evicted", ""},
		{"Destroyed", "contexts_ended_total", "reason=destroyed", ""},
		{"Unknown", "refusals_total", "reason=unknown_context",
			"Calls that were refused, or whose connection was closed, by reason."},
		{"BadMICs", "refusals_total", "reason=bad_mic", ""},
		{"Stale", "refusals_total", "reason=stale_context", ""},
		{"BadCreds", "refusals_total", "reason=bad_credential", ""},
		{"GarbageBodies", "refusals_total", "reason=bad_body", ""},
		{"Replays", "refusals_total", "reason=replay", ""},
		{"OutOfWindow", "refusals_total", "reason=out_of_window", ""},
		{"WrapFailures", "refusals_total", "reason=wrap_failed", ""},
		{"ConnsClosed", "connections_closed_total", "",
			"Connections that were closed because of replay, out_of_window or wrap_failed."},
	})
	gatewayTable = newTable[gateway.Stats]("gateway", []row{
		{"Calls", "received_total", "", "Calls that were passed on, or are about to be."},
		{"Replies", "replies_total", "", "Replies that were returned to clients."},
		{"Dropped", "dropped_total", "", "Calls without a reply, because a connection ended."},
		{"Duplicates", "duplicates_total", "", "Copies of calls under way; they are not passed on."},
		{"Failed", "failed_total", "",
			"Calls answered with SYSTEM_ERR, because they or their replies could not be carried."},
		{"Waited", "memory_waits_total", "", "How often a call waited for memory."},
		{"CallBytes", "bytes_total", "what=calls", "Bytes of the calls and the replies."},
		{"ReplyBytes", "bytes_total", "what=replies", ""},
		{"Clients", "clients", "", "Client connections that have made a call."},
		{"Dials", "dials_total", "result=connected", "Attempts to connect to the server, by result."},
		{"DialFailures", "dials_total", "result=failed", ""},
		{"Lost", "connections_lost_total", "", "Connections to the server that ended before the client's."},
	})
)

// table is a layer's rows as metrics.
type table struct {
	rows  []metric
	descs []*prometheus.Desc
}

type metric struct {
	field  []int // its index
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	values []string // of the labels of its own
}

// newTable makes the metrics of a layer with the statistics V. It panics unless each number in V
// has one row. Each metric has the further labels, whose values come with the values of the layer.
func newTable[V any](layer string, rows []row, further ...string) *table {
	t := new(table)
	fields := make(map[string][]int) // those without a row yet
	for _, f := range reflect.VisibleFields(reflect.TypeFor[V]()) {
		if f.Type.ConvertibleTo(float) {
			fields[f.Name] = f.Index
		}
	}
	var desc *prometheus.Desc
	last := ""
	for _, r := range rows {
		field, ok := fields[r.field]
		if !ok {
			panic(fmt.Sprintf("metrics: %s has no field %s, or two rows for it", layer, r.field))
		}
		delete(fields, r.field)
		var names, values []string
		for l := range strings.SplitSeq(r.label, ",") {
			if name, value, ok := strings.Cut(l, "="); ok {
				names, values = append(names, name), append(values, value)
			}
		}
		if r.name != last {
			last = r.name
			desc = prometheus.NewDesc("rpcrdma_"+layer+"_"+r.name, r.help, append(names, further...), nil)
			t.descs = append(t.descs, desc)
		}
		kind := prometheus.GaugeValue
		if strings.HasSuffix(r.name, "_total") {
			kind = prometheus.CounterValue
		}
		t.rows = append(t.rows, metric{field, desc, kind, values})
	}
	if len(fields) > 0 {
		panic(fmt.Sprintf("metrics: %s has fields without a row: %v", layer, fields))
	}
	return t
}

var float = reflect.TypeFor[float64]()

// describe sends the descriptions of the table.
func (t *table) describe(ch chan<- *prometheus.Desc) {
	for _, d := range t.descs {
		ch <- d
	}
}

// collect sends the metrics of a layer's values, a struct.
func (t *table) collect(ch chan<- prometheus.Metric, values any, further ...string) {
	v := reflect.ValueOf(values)
	for _, m := range t.rows {
		n := v.FieldByIndex(m.field).Convert(float).Float()
		labels := append(append([]string(nil), m.values...), further...)
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, n, labels...)
	}
}
