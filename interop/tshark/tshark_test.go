//go:build interop

package tshark

import (
	"context"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// smallSegment makes an FPDU of 1460 bytes, which is what a TCP segment carries on Ethernet.
const smallSegment = 1460 - fpduLen - 2

// tries is how many captures are made in the hope of one with TCP in order.
const tries = 5

// tshark decodes NFS sessions over RDMA: every byte of both streams belongs to a frame, every message that was posted
// is there with its bytes, and every RPC call and reply comes out whole, with what went by chunk in its place.
// (READ replies of Linux servers come out malformed if their length is no multiple of 4. Ours do not.)
func TestSession(t *testing.T) {
	enhanced := startup{Revision: 2, Enhanced: true}
	withCRC := startup{Revision: 2, Enhanced: true, CRC: true}
	tests := []struct {
		name           string
		server, client iwarp.Config
		request, reply startup
		ready          map[opcode]messages // from the client, beyond what is posted: ready-to-receive
		answer         map[opcode]messages // to that
		problems       []string            // of tshark's own, with what comes from the client
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flows, client, server := observe(t, tt.server, tt.client, func(ctx context.Context, l, d *counted) {
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
				got.check(t, from, tt.reply.CRC, tt.server.MaxSegment)
			}
			// What the session is meant to bring about.
			if server.Writes == 0 || server.Reads == 0 || server.Invalidates == 0 || flows[0].Ops[opReadResponse].Bytes == 0 {
				t.Errorf("the session is too simple: %+v", server)
			}
		})
	}
}

// observe captures a session and returns what tshark found, and what the ends have posted. A session in which TCP
// repeated something, as it does on a busy machine, or whose packets were not captured in their order, is had again:
// tshark may lose track of that, whatever is sent.
func observe(t *testing.T, server, client iwarp.Config, session func(ctx context.Context, l, d *counted)) (flows [2]flow, clientPosts, serverPosts tally) {
	t.Helper()
	for range tries {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		l, d := setup(t, server, client)
		port := l.Addr().(*net.TCPAddr).Port
		c := startCapture(t, port)
		session(ctx, l, d)
		flows = decode(t, dissect(t, c.stop(t)), port)
		if !flows[0].disorder && !flows[1].disorder {
			return flows, d.total(), l.total()
		}
		t.Log("TCP has repeated something, or the capture is not in order; once more")
	}
	t.Fatalf("no capture of %d has TCP in order", tries)
	return flows, clientPosts, serverPosts
}

// posted returns the messages that there must be from an end which has posted own, while its peer has posted other.
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

// check looks at what is below the messages.
func (f *flow) check(t *testing.T, from string, crc bool, maxSegment int) {
	t.Helper()
	if f.accounted != f.stream {
		t.Errorf("from the %s: the frames have %d bytes, of %d in the stream", from, f.accounted, f.stream)
	}
	checked, unchecked := 0, f.fpdus
	if crc {
		checked, unchecked = f.fpdus, 0
	}
	if f.checked != checked || f.unchecked != unchecked {
		t.Errorf("from the %s: of %d FPDUs %d have a good CRC and %d none; want %d and %d", from, f.fpdus, f.checked, f.unchecked, checked, unchecked)
	}
	if maxSegment == 0 {
		return
	}
	// Full segments, but no longer ones.
	if f.longest > maxSegment || f.longest < maxSegment-8 {
		t.Errorf("from the %s: the longest ULPDU has %d bytes, want about %d", from, f.longest, maxSegment)
	}
}

// tshark reads the Terminate messages that end a connection.
func TestTerminate(t *testing.T) {
	tests := []struct {
		name  string
		fault fault
		err   error
		want  string
	}{
		{"Write to a bad STag", fault{transport.OpWrite, 100}, transport.ErrSTag, "DDP (0x1), Tagged Buffer Error (0x1), Invalid STag (0x00)"},
		{"Read from a bad STag", fault{transport.OpRead, 100}, transport.ErrSTag, "RDMA (0x0), Remote Protection Error (0x1), Invalid STag (0x00)"},
		{"Send without a receive", fault{transport.OpSend, 0}, transport.ErrNoReceive, "DDP (0x1), Untagged Buffer Error (0x2), Invalid MSN - no buffer available (0x02)"},
	}
	for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
		for _, tt := range tests {
			t.Run(tt.name+map[iwarp.CRC]string{iwarp.CRCOn: " with CRC"}[crc], func(t *testing.T) {
				flows, posts, _ := observe(t, iwarp.Config{}, iwarp.Config{CRC: crc}, func(ctx context.Context, l, d *counted) {
					faultSession(ctx, t, l, d, tt.fault, tt.err)
				})
				client, server := &flows[0], &flows[1]
				for from, f := range map[string]*flow{"client": client, "server": server} {
					f.check(t, from, crc == iwarp.CRCOn, 0)
					if len(f.Problems) > 0 {
						t.Errorf("from the %s: %q", from, f.Problems)
					}
				}
				if diff := cmp.Diff(posted(posts, tally{}, nil), client.Ops); diff != "" {
					t.Errorf("from the client (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[opcode]messages{opTerminate: {Count: 1}}, server.Ops); diff != "" {
					t.Errorf("from the server (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{tt.want}, server.Terminates); diff != "" {
					t.Errorf("the Terminate (-want +got):\n%s", diff)
				}
			})
		}
	}
}
