//go:build interop

package tshark

import (
	"context"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// smallSegment makes an FPDU of 1460 bytes, the payload of a TCP segment on Ethernet.
const smallSegment = 1460 - fpduLen - 2

// singleSegment makes an FPDU of 508 bytes, in which there is one marker at most, wherever it
// begins.
const singleSegment = 508 - markerLen - fpduLen

// tries is how many captures are made in the hope of one with TCP in order.
const tries = 10

// tshark decodes NFS sessions over RDMA: every byte of both streams belongs to a frame, every
// message that was posted is there with its bytes, and every RPC call and reply comes out whole,
// with what went by chunk in its place. (READ replies of Linux servers come out malformed if their
// length is no multiple of 4. Ours do not.)
func TestSession(t *testing.T) {
	enhanced := startup{Revision: 2, Enhanced: true}
	withCRC := startup{Revision: 2, Enhanced: true, CRC: true}
	marked := func(s startup) startup { s.Markers = true; return s }
	rdmac := startup{Revision: 0, Markers: true, CRC: true}
	tests := []struct {
		name           string
		server, client iwarp.Config
		request, reply startup
		// from the client, beyond what is posted: ready-to-receive
		ready    map[opcode]messages
		answer   map[opcode]messages // to that
		problems []string            // of tshark's own, with what comes from the client
	}{
		{name: "CRC off", request: enhanced, reply: enhanced},
		{name: "CRC on", client: iwarp.Config{CRC: iwarp.CRCOn}, request: withCRC, reply: withCRC},
		{name: "CRC wanted by the server", server: iwarp.Config{CRC: iwarp.CRCOn}, request: enhanced, reply: withCRC},
		{name: "revision 1", client: iwarp.Config{Enhanced: mpa.EnhancedNever}, request: startup{Revision: 1}, reply: startup{Revision: 1}},
		{name: "small segments", server: iwarp.Config{MaxSegment: smallSegment}, client: iwarp.Config{MaxSegment: smallSegment},
			request: enhanced, reply: enhanced},
		{name: "small segments with CRC", server: iwarp.Config{MaxSegment: smallSegment},
			client: iwarp.Config{MaxSegment: smallSegment, CRC: iwarp.CRCOn}, request: withCRC, reply: withCRC},
		{name: "peer-to-peer by Write", client: iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, request: enhanced, reply: enhanced,
			ready: map[opcode]messages{opWrite: {Count: 1}}},
		{name: "peer-to-peer by Read", client: iwarp.Config{PeerToPeer: true, RTR: mpa.RTRRead}, request: enhanced, reply: enhanced,
			ready: map[opcode]messages{opReadRequest: {Count: 1}}, answer: map[opcode]messages{opReadResponse: {Count: 1}}},
		{name: "peer-to-peer by Send", client: iwarp.Config{PeerToPeer: true, RTR: mpa.RTRSend}, request: enhanced, reply: enhanced,
			ready: map[opcode]messages{opSend: {Count: 1}},
			// An empty Send is taken for a message of RPC-over-RDMA like any other.
			problems: []string{"[Malformed Packet: RPCoRDMA]"}},
		{name: "markers towards the client", server: iwarp.Config{MaxSegment: singleSegment},
			client: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn}, request: marked(enhanced), reply: enhanced},
		{name: "markers towards the client, with CRC", server: iwarp.Config{MaxSegment: singleSegment},
			client:  iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn, CRC: iwarp.CRCOn},
			request: marked(withCRC), reply: withCRC},
		{name: "markers towards the server", server: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn},
			client: iwarp.Config{MaxSegment: singleSegment}, request: enhanced, reply: marked(enhanced)},
		{name: "markers towards the server, with CRC", server: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn},
			client: iwarp.Config{MaxSegment: singleSegment, CRC: iwarp.CRCOn}, request: withCRC, reply: marked(withCRC)},
		{name: "markers", server: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn},
			client: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn}, request: marked(enhanced), reply: marked(enhanced)},
		{name: "markers, with CRC", server: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn},
			client:  iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn, CRC: iwarp.CRCOn},
			request: marked(withCRC), reply: marked(withCRC)},
		{name: "markers, revision 1", server: iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn},
			client:  iwarp.Config{MaxSegment: singleSegment, Markers: mpa.MarkersOn, Enhanced: mpa.EnhancedNever},
			request: startup{Revision: 1, Markers: true}, reply: startup{Revision: 1, Markers: true}},
		{name: "revision 0, from an RDMAC client", server: iwarp.Config{MaxSegment: singleSegment, RNIC: mpa.Permissive},
			client: iwarp.Config{MaxSegment: singleSegment, RNIC: mpa.RDMAC}, request: rdmac, reply: rdmac},
		{name: "revision 0, to an RDMAC server", server: iwarp.Config{MaxSegment: singleSegment, RNIC: mpa.RDMAC},
			client:  iwarp.Config{MaxSegment: singleSegment, RNIC: mpa.Permissive, Version: mpa.VersionRDMAC},
			request: rdmac, reply: rdmac},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flows, client, server := observe(t, tt.server, tt.client, tt.request.asked(tt.reply), func(ctx context.Context, l, d *counted) {
				stop := serve(t, l)
				nfsSession(ctx, t, d, l.Addr().String())
				stop()
			})
			tt.reply.Reply = true
			calls := client.Sends + client.Invalidates
			replies := server.Sends + server.Invalidates
			wants := []flow{
				{Startup: tt.request, Ops: posted(client, server, tt.ready), RPCRDMA: calls, RPC: calls, Problems: tt.problems},
				{Startup: tt.reply, Ops: posted(server, client, tt.answer), RPCRDMA: replies, RPC: replies},
			}
			for i, from := range []string{"client", "server"} {
				got := &flows[i]
				if diff := cmp.Diff(wants[i], *got, cmpopts.IgnoreUnexported(flow{})); diff != "" {
					t.Errorf("from the %s (-want +got):\n%s", from, diff)
				}
				got.check(t, from, framing{
					CRC:        tt.reply.CRC,
					Markers:    tt.request.asked(tt.reply)[i],
					Version:    min(tt.reply.Revision, 1),
					MaxSegment: tt.server.MaxSegment,
				})
			}
			// The expected effects of the session.
			if server.Writes == 0 || server.Reads == 0 || server.Invalidates == 0 || flows[0].Ops[opReadResponse].Bytes == 0 {
				t.Errorf("the session is too simple: %+v", server)
			}
		})
	}
}

// asked returns the directions that have markers, from the client and from the server, given the
// request: a receiver asks for markers.
func (s startup) asked(reply startup) [2]bool { return [2]bool{reply.Markers, s.Markers} }

// observe captures a session, with markers in the given directions, and returns tshark's findings
// and the counts of the ends. It repeats a session if TCP retransmitted something, which happens on
// a busy machine, or if packets were captured out of order, because then tshark may lose track.
func observe(t *testing.T, server, client iwarp.Config, marked [2]bool, session func(ctx context.Context, l, d *counted)) (flows [2]flow, clientPosts, serverPosts tally) {
	t.Helper()
	for range tries {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		l, d := setup(t, server, client)
		port := l.Addr().(*net.TCPAddr).Port
		c := startCapture(t, port)
		session(ctx, l, d)
		file := c.stop(t)
		var inOrder bool
		if marked == [2]bool{} {
			flows = decode(t, dissect(t, file), port)
			inOrder = !flows[0].disorder && !flows[1].disorder
		} else {
			flows, inOrder = decodeMarked(t, file, port, marked)
		}
		if inOrder {
			return flows, d.total(), l.total()
		}
		t.Log("TCP has repeated something, or the capture is not in order; once more")
	}
	t.Fatalf("no capture of %d has TCP in order", tries)
	return flows, clientPosts, serverPosts
}

// posted returns the messages that there must be from an end which has posted own, while its peer
// has posted other.
func posted(own, other tally, more map[opcode]messages) map[opcode]messages {
	ops := make(map[opcode]messages)
	add := func(op opcode, m messages) {
		if m.Count > 0 {
			ops[op] = messages{ops[op].Count + m.Count, ops[op].Bytes + m.Bytes}
		}
	}
	add(opSend, messages{own.Sends, own.SendBytes})
	add(opSendInvalidate, messages{own.Invalidates, own.InvalidateBytes})
	add(opWrite, messages{own.Writes, own.WriteBytes})
	add(opReadRequest, messages{own.Reads, own.ReadBytes})
	add(opReadResponse, messages{other.Reads, other.ReadBytes})
	for op, m := range more {
		add(op, m)
	}
	return ops
}
