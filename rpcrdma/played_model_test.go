package rpcrdma_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestPlayed has a client do anything that the protocol allows, and also send RDMA_DONEs for
// nothing:
//
//   - calls with replies of all kinds, which come at once or when their handlers return
//   - RDMA_DONEs in any order, late or twice
//   - time limits that pass
//   - XIDs used again while an RDMA_DONE is owed
//   - requests for more or fewer credits
//   - memory that another client uses
//
// After each step all accounts are right, the connection exists, and whatever waits has a reason
// to. In the end all calls are answered, and all memory is given back.
func TestPlayed(t *testing.T) {
	kinds := []string{
		"read", "read", "read", "reserve", "DONE", "read", "block, and read", "go on", "DONE", "block", "late DONE", "other reads", "DONE", "null",
		"reserve", "go on", "block, and read", "late DONE", "other DONE", "DONE for nothing", "time limit",
	}
	rapid.Check(t, func(rt *rapid.T) {
		rapidInBubble(t, rt, func(tb testing.TB) {
			cfg := rpcrdma.Config{
				Credits:       rapid.SampledFrom([]int{16, 8, 3, 2, 1}).Draw(rt, "credits"),
				ConnMemory:    2 * rpcrdma.MaxInline,
				ServerMemory:  int64(rapid.SampledFrom([]int{2, 3}).Draw(rt, "server's memory")) * rpcrdma.MaxInline,
				ReceiveMemory: int64(rapid.SampledFrom([]int{0, 1, 30_000}).Draw(rt, "memory for messages")),
			}
			p := newServerModel(tb, cfg)
			p.lax = rapid.Bool().Draw(rt, "lax")
			for range rapid.SampledFrom([]int{40, 120}).Draw(rt, "steps") {
				kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
				xid := rapid.Uint32Range(1, 24).Draw(rt, "transaction id")
				asked := rapid.SampledFrom([]uint32{0, 1, 3, 20}).Draw(rt, "asked for")
				free := p.may() > 0 && p.under[xid] == nil
				switch {
				case kind == "null" && free:
					p.call(xid, asked, modelledCall{})
				case kind == "read" && free:
					p.call(xid, asked, modelledCall{read: rapid.SampledFrom([]int{third, third, 30_000, 2000}).Draw(rt, "size")})
				case kind == "block" && free:
					p.call(xid, asked, modelledCall{block: true})
				case kind == "block, and read" && free:
					p.call(xid, asked, modelledCall{block: true, read: 3000})
				case kind == "reserve" && free:
					p.call(xid, asked, modelledCall{block: true, reserve: rapid.SampledFrom([]int{20_000, rpcrdma.MaxInline}).Draw(rt, "size")})
				case kind == "go on" && p.blocked > 0:
					p.r.program.pass(p.t)
					p.blocked--
				case kind == "DONE" && len(p.live) > 0:
					p.acknowledge(p.live[int(xid)%len(p.live)].xid)
				case kind == "late DONE" && len(p.late) > 0:
					p.acknowledge(p.late[int(xid)%len(p.late)])
				case kind == "DONE for nothing" && p.may() > 0:
					p.acknowledge(100 + xid)
				case kind == "time limit" && (xid == 1 || len(p.live)+len(p.late) < p.credits):
					// Otherwise the time limit would end most connections.
					if !p.timeLimit() {
						ended(p.t, p.conn)
						if err := p.conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
							rt.Errorf("ended with %v, want %v", err, rpcrdma.ErrStalled)
						}
						return
					}
				case kind == "other reads" && p.beside == 0 && cfg.ReceiveMemory == 0:
					// Otherwise one could hold up the other.
					p.otherAsks()
				case kind == "other DONE" && p.beside > 0:
					p.otherDone()
				default:
					continue
				}
				p.settle()
			}
			p.finish()
			if p.beside > 0 {
				p.otherDone()
			}
			if p.may() == 0 {
				rt.Fatal("there is no credit for another call")
			}
			p.call(1, 1, modelledCall{})
			p.settle()
			p.rawPeer.ep.Close()
			ended(p.t, p.conn)
			p.r.memoryBack()
			if free, all, _ := p.conn.ReceiveMemory(); free != all && p.other == nil {
				rt.Errorf("%d bytes of %d for messages free", free, all)
			}
		})
	})
}
