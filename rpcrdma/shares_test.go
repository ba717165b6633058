package rpcrdma_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// hostsRig is a rig over iWARP in a network in memory, whose clients come from several hosts. It is
// for bubbles.
type hostsRig struct {
	*rig
	network *faultnet.Memory
	wire    iwarp.Config
	greedy  []*rpcrdma.Conn // server ends of stalled connections
}

func newHostsRig(t testing.TB, cfg rpcrdma.Config, wire iwarp.Config) *hostsRig {
	t.Helper()
	wire.Logger = quiet
	r := &hostsRig{network: faultnet.NewMemory(faultnet.Config{}), wire: wire}
	l, err := r.network.Listen("10.0.0.1:20049")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := iwarp.NewListener(l, wire)
	if err != nil {
		t.Fatal(err)
	}
	r.rig = serveRig(t, cfg, listener, nil, sameEndpoint)
	r.from(0)
	return r
}

// from has the clients that are made from now on be of a host.
func (r *hostsRig) from(host int) {
	address := fmt.Sprintf("10.0.1.%d", host)
	r.dialer = iwarp.Dialer{Config: r.wire, DialContext: r.network.Dialer(address)}
}

// occupy makes conns connections from each of n hosts. On each one a client makes a call whose
// message must be fetched, and never answers the RDMA Read for it.
func (r *hostsRig) occupy(n, conns int) {
	r.t.Helper()
	before := len(r.network.Links())
	var peers []*rawPeer
	for i := range n * conns {
		r.from(i % n)
		p := r.raw(inline4k)
		p.alive() // its reply brings many credits
		peers = append(peers, p)
		r.greedy = append(r.greedy, wait(r.t, r.program.conns))
	}
	for _, l := range r.network.Links()[before:] {
		l.Freeze(faultnet.Down) // data from the server
	}
	for _, p := range peers {
		h := header(1, rpcrdma.TypeNoMsg)
		h.Reads = []chunks.ReadSegment{{Segment: chunks.Segment{Handle: 1, Length: 60_000}}}
		h.SetReply([]chunks.Segment{{Handle: 1, Length: rpcrdma.MaxInline}})
		p.send(h)
	}
	synctest.Wait()
}

// stand checks that the greedy connections have stood still, and lets them go on, to their end.
func (r *hostsRig) stand() {
	r.t.Helper()
	defer func() {
		for _, l := range r.network.Links() {
			l.Thaw(faultnet.Down)
		}
	}()
	for i, c := range r.greedy {
		if err := c.Err(); err != nil {
			r.t.Fatalf("greedy connection %d has ended, and made room by that: %v", i, err)
		}
	}
}

// TestShareOfReceives: hosts take all the memory for receives that they can get. Each of many
// connections has been granted many credits and has one call under way that does not end. Another
// host has been granted as many before. Its calls are answered meanwhile, as many at a time.
func TestShareOfReceives(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d greedy", n), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				const conns, credits, rounds = 40, 8, 10
				r := newHostsRig(t, rpcrdma.Config{
					Credits: credits, ReceiveMemory: 200 * 4096, PeerTimeout: time.Hour,
				}, iwarp.Config{})
				r.from(n)
				good := r.dial(rpcrdma.Config{})
				together(t, good, credits)
				for range credits + 1 {
					wait(t, r.program.conns)
				}
				r.occupy(n, conns)
				defer r.stand()
				heldUp := uint64(0)
				for _, c := range r.greedy {
					heldUp += c.Stats().HeldUp
				}
				if heldUp == 0 {
					t.Fatal("the receives of the greedy hosts all fit")
				}
				start := time.Now()
				for range rounds {
					together(t, good, credits)
				}
				if grant, _, _ := good.Credits(); grant < credits {
					t.Errorf("%d credits are granted to a host whose share is free", grant)
				}
				if d := time.Since(start); d > time.Minute {
					t.Errorf("the calls of another host took %v", d)
				}
			})
		})
	}
}

const (
	// aStall is the StallTimeout of these servers.
	aStall = 30 * time.Second

	// busyAtATime is the number of connections that can have memory at a time.
	busyAtATime = 6
)

// beginAndStop has n peers, each on its own host, make a call and then begin another one.
func (r *hostsRig) beginAndStop(n int) {
	r.t.Helper()
	var conns []net.Conn
	for i := range n {
		host := fmt.Sprintf("10.1.0.%d", 1+i)
		conn, err := r.network.Dialer(host)(context.Background(), "tcp", r.addr)
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
		if _, err := mpa.Initiate(conn, mpa.Config{IRD: 1, ORD: 1}, nil); err != nil {
			r.t.Fatal(err)
		}
		call := append(header(9, rpcrdma.TypeMsg).Append(nil), callBytes(9, procNull, nil)...)
		conn.Write(sendFPDU(1, true, call))
	}
	synctest.Wait() // the replies bring credits for many calls
	for _, conn := range conns {
		conn.Write(sendFPDU(2, false, header(10, rpcrdma.TypeMsg).Append(nil)))
		synctest.Wait()
	}
}

// sendFPDU is an FPDU, without CRC, of a Send or of the first part of one.
func sendFPDU(msn uint32, last bool, payload []byte) []byte {
	h := ddp.Header{
		Last: last, Version: ddp.Version, Control: rdmap.Control(ddp.Version, rdmap.OpSend), MSN: msn,
	}
	ulpdu := append(h.Append(nil), payload...)
	fpdu := append([]byte{byte(len(ulpdu) >> 8), byte(len(ulpdu))}, ulpdu...)
	return append(fpdu, make([]byte, -len(fpdu)&3+4)...)
}

// TestStoppedPeers: more peers than fit in memory each begin a message and stop. Those with memory
// lose it in time, and the calls of a client that waits after them all are answered. Peers that had
// to wait for the whole timeout still get a quarter of it, because they might have continued.
func TestStoppedPeers(t *testing.T) {
	for _, peers := range []int{busyAtATime, 50} {
		t.Run(fmt.Sprint(peers), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				const credits, receive = 16, 4096
				counters := new(iwarp.Counters)
				r := newHostsRig(t,
					rpcrdma.Config{Credits: credits, ReceiveMemory: busyAtATime * (credits + 1) * receive},
					iwarp.Config{CRC: iwarp.CRCOff, StallTimeout: aStall, NudgeAfter: -1, Counters: counters})
				c := r.dialOn(rpcrdma.Config{}, sameEndpoint)
				together(t, c, 0)
				r.beginAndStop(peers)
				lots := (peers + busyAtATime - 1) / busyAtATime
				// The first lot may take one and a half times aStall.
				most := aStall*3/2 + time.Duration(lots-1)*aStall/4
				began := time.Now()
				together(t, c, 64)
				if took := time.Since(began); took > most {
					t.Errorf("65 calls took %v, want %v at most", took, most)
				}
				time.Sleep(aStall)
				synctest.Wait()
				if got := counters.Stats().Stalls; got != uint64(peers) {
					t.Errorf("%d connections have stalled, want %d", got, peers)
				}
				c.Close()
				time.Sleep(time.Minute) // ended connections wait for their peers to close
			})
		})
	}
}
