package rpcrdma_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

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

// TestStoppedPeers: more peers than fit in memory each begin a message and stop. Peers with memory
// lose it in time, one group after another, and the calls of a client that waits after them all are
// answered. Peers that had to wait for the whole timeout still get a quarter of it when they get
// memory, because they might have continued. Each of them ends.
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
				calls := func() time.Duration {
					began := time.Now()
					together(t, c, 64)
					return time.Since(began)
				}
				calls()
				r.beginAndStop(peers)
				lots := (peers + busyAtATime - 1) / busyAtATime
				// The first lot may take one and a half times aStall.
				most := aStall*3/2 + time.Duration(lots-1)*aStall/4
				if took := calls(); took > most {
					t.Errorf("65 calls took %v, want %v at most", took, most)
				}
				time.Sleep(aStall)
				synctest.Wait()
				if got := counters.Stats().Stalls; got != uint64(peers) {
					t.Errorf("%d connections have stalled, want %d", got, peers)
				}
				if took := calls(); took > time.Second {
					t.Errorf("65 calls took %v when all had ended", took)
				}
				c.Close()
				time.Sleep(time.Minute) // ended connections wait for their peers to close
			})
		})
	}
}
