//go:build interop

package linux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
)

// The callback program (RFC 8881 section 20): its version and procedures.
const (
	cbVersion = 1

	cbNull     = 0
	cbCompound = 1
)

// backSlot is a slot of the back channel, with the number of its last request.
type backSlot struct{ id, seq uint32 }

// await waits until a condition holds, under s.mu. Such conditions are about what changed reports.
func (s *nfs41) await(ctx context.Context, what string, holds func() bool) error {
	for {
		s.mu.Lock()
		done, news := holds(), s.news
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

// callback makes a backward call on the connection bound for it. When that connection ends, it
// makes the call again on the next one.
func (s *nfs41) callback(ctx context.Context, call func(*oncrpc.Client) error) error {
	var lost oncrpc.Transport
	for {
		var client *oncrpc.Client
		var conn oncrpc.Transport
		err := s.await(ctx, "a connection to call back on", func() bool {
			if conn = s.back; conn == nil || conn == lost {
				return false
			}
			client = oncrpc.NewClient(conn, s.program, cbVersion, s.flavor)
			return true
		})
		if err != nil {
			return err
		}
		err = call(client)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.back == conn {
				s.answered++
				s.changed()
			}
			return nil
		}
		if !errors.Is(err, net.ErrClosed) {
			return err
		}
		lost = conn
	}
}

// null makes a CB_NULL.
func (s *nfs41) null(ctx context.Context) error {
	return s.callback(ctx, func(c *oncrpc.Client) error { return c.Call(ctx, cbNull, nil, nil) })
}

// compound makes a CB_COMPOUND of CB_SEQUENCE and operations, which all must succeed. The client
// waits for the replies to referring calls first (RFC 8881 section 2.10.6.3). If ctx ends before
// the reply comes, the slot is in an unknown state and not used again.
func (s *nfs41) compound(ctx context.Context, referring []nfsv4.ReferringCallList4, ops ...nfsv4.NfsCbArgop4) error {
	var slot backSlot
	select {
	case slot = <-s.backSlots:
	case <-ctx.Done():
		return ctx.Err()
	}
	slot.seq++
	seq := &nfsv4.NfsCbArgop4_OP_CB_SEQUENCE{Opcbsequence: nfsv4.CbSequence4args{
		CsaSessionid: s.session(), CsaSequenceid: slot.seq, CsaSlotid: slot.id, CsaHighestSlotid: uint32(cap(s.backSlots) - 1),
		CsaReferringCallLists: referring,
	}}
	args := nfsv4.CbCompound4args{Minorversion: 1, Argarray: append([]nfsv4.NfsCbArgop4{seq}, ops...)}
	for sent := 0; ; {
		var res nfsv4.CbCompound4res
		err := s.callback(ctx, func(c *oncrpc.Client) error {
			sent++
			return c.Do(ctx, &oncrpc.Request{Procedure: cbCompound, Args: goxdr.Args(&args), Reply: goxdr.Reply(&res)})
		})
		switch {
		case err != nil:
			return err
		case res.Status == nfsv4.NFS4_OK,
			res.Status == nfsv4.NFS4ERR_RETRY_UNCACHED_REP && sent > 1: // the reply was lost
			s.backSlots <- slot
			return nil
		case res.Status == nfsv4.NFS4ERR_DELAY && len(res.Resarray) == 1:
			// The client binds a connection, or waits for the reply to a referring call.
			time.Sleep(10 * time.Millisecond)
		default:
			return fmt.Errorf("CB_COMPOUND: operation %d of %d: %v", len(res.Resarray), len(args.Argarray), res.Status)
		}
	}
}

// recall makes a CB_RECALL of the next delegation that is out, and waits for its return.
func (s *nfs41) recall(ctx context.Context) error {
	var id state
	var granted []nfsv4.ReferringCallList4
	err := s.await(ctx, "a delegation", func() bool {
		if s.delegation == nil {
			return false
		}
		id, granted = *s.delegation, s.granted
		return true
	})
	if err != nil {
		return err
	}
	err = s.compound(ctx, granted, &nfsv4.NfsCbArgop4_OP_CB_RECALL{
		Opcbrecall: nfsv4.CbRecall4args{Stateid: id, Fh: []byte(fileFH)}})
	if err != nil {
		return err
	}
	return s.await(ctx, "DELEGRETURN", func() bool { return s.delegation == nil || s.delegation.Other != id.Other })
}

// bound returns the connection that is bound to the back channel.
func (s *nfs41) bound() oncrpc.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.back
}

// backAtOnce is how many backward calls flood has under way: as many as Linux has slots for.
const backAtOnce = 16

// flood makes n backward calls, CB_NULL and CB_SEQUENCE by turns. If nudge is not 0, each nudge-th
// is a CB_RECALL_SLOT instead, upon which Linux sends a SEQUENCE. flood returns how many have
// succeeded, and the first error.
func (s *nfs41) flood(ctx context.Context, n, nudge int) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range backAtOnce {
		wg.Go(func() {
			for i := int(next.Add(1)); ctx.Err() == nil && i <= n; i = int(next.Add(1)) {
				var err error
				switch {
				case nudge > 0 && i%nudge == 0:
					err = s.compound(ctx, nil, &nfsv4.NfsCbArgop4_OP_CB_RECALL_SLOT{
						OpcbrecallSlot: nfsv4.CbRecallSlot4args{RsaTargetHighestSlotid: uint32(len(s.slots) - 1)}})
				case i%2 == 0:
					err = s.null(ctx)
				default:
					err = s.compound(ctx, nil)
				}
				if err != nil {
					cancel(fmt.Errorf("backward call %d: %w", i, err))
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return int(done.Load()), context.Cause(ctx)
}
