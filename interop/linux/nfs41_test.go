//go:build interop

package linux

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// nfs41 is a scripted server of NFSv4.1 (RFC 8881) that Linux mounts, to be called back on the
// mount's own connection (RFC 8167). It has one client with one session, and one directory where
// every name is that of the same file. It knows the operations that Linux needs for the tests. READ
// is not among them: its data would have to be a chunk (RFC 8267 section 6).
type nfs41 struct {
	t     *testing.T
	id    uint64 // of client, session and server; other servers have another
	lease uint32 // in seconds

	mu        sync.Mutex    // guards what follows; a COMPOUND runs under it
	news      chan struct{} // closed and replaced when something changes that await waits for
	slots     []nfs41Slot   // of the fore channel
	backSlots chan backSlot // those of the back channel that no call uses
	program   uint32        // of backward calls
	flavor    oncrpc.ClientFlavor
	back      oncrpc.Transport // the connection bound to the back channel, or nil
	answered  int              // backward calls on that connection so far
	binds     int              // BIND_CONN_TO_SESSIONs so far

	file       []byte
	states     uint32                     // stateids made so far
	opens      map[string]*state          // by open owner
	delegation *state                     // the one that is out, or nil
	granted    []nfsv4.ReferringCallList4 // by that call
	returns    int                        // delegations returned so far
}

// nfs41Slot is a slot of the fore channel: the reply to its last request (RFC 8881 section 2.10.6).
type nfs41Slot struct {
	seq uint32
	res *nfsv4.Compound4res
}

// state is a stateid.
type state = nfsv4.Stateid4

// noLog logs nothing: here, lost connections are no news.
var noLog = slog.New(slog.DiscardHandler)

// nfs41s is how many servers there have been.
var nfs41s atomic.Uint64

// serve41 serves the connections of a listener until the test ends.
func serve41(t *testing.T, l transport.Listener, lease uint32, cfg rpcrdma.Config) *nfs41 {
	t.Helper()
	s := &nfs41{t: t, id: nfs41s.Add(1), lease: lease, news: make(chan struct{}), opens: make(map[string]*state)}
	cfg.Logger = noLog
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: noLog})
	err := srv.Handle(oncrpc.Program{
		Name: "nfs", Number: nfsv4.NFS4_PROGRAM_PROGRAM_NUMBER, Version: 4,
		Procedures: goxdr.Procedures(nfsv4.NewNfs4ProgramService(s), 2*nfs41Write, "NULL", "COMPOUND"),
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = rpcrdma.Serve(context.Background(), l, srv, cfg) // ends with Close
	}()
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return s
}

// NfsV4Nfsproc4Null implements nfsv4.Nfs4Program.
func (s *nfs41) NfsV4Nfsproc4Null(context.Context) error { return nil }

// NfsV4Nfsproc4Compound implements nfsv4.Nfs4Program.
func (s *nfs41) NfsV4Nfsproc4Compound(ctx context.Context, args *nfsv4.Compound4args) (*nfsv4.Compound4res, error) {
	call, _ := goxdr.CallFromContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := compound{s: s, conn: call.Conn}
	res := &nfsv4.Compound4res{Tag: args.Tag}
	if args.Minorversion != 1 {
		res.Status = nfsv4.NFS4ERR_MINOR_VERS_MISMATCH
		return res, nil
	}
	for _, op := range args.Argarray {
		var r nfsv4.NfsResop4
		r, res.Status = c.run(op)
		if c.repeated != nil {
			return c.repeated, nil
		}
		res.Resarray = append(res.Resarray, r)
		if res.Status != nfsv4.NFS4_OK {
			break
		}
	}
	if c.slot != nil {
		c.slot.res = res
	}
	return res, nil
}

// compound is a COMPOUND that runs.
type compound struct {
	s        *nfs41
	conn     oncrpc.Transport
	fh       string // the current file handle: root or file
	request  nfsv4.ReferringCall4
	slot     *nfs41Slot
	repeated *nfsv4.Compound4res // the reply, if the request is a repeated one
}

// run executes an operation.
func (c *compound) run(op nfsv4.NfsArgop4) (nfsv4.NfsResop4, nfsv4.Nfsstat4) {
	const ok = nfsv4.NFS4_OK
	switch a := op.(type) {
	case *nfsv4.NfsArgop4_OP_EXCHANGE_ID:
		return &nfsv4.NfsResop4_OP_EXCHANGE_ID{OpexchangeId: c.s.exchangeID()}, ok
	case *nfsv4.NfsArgop4_OP_CREATE_SESSION:
		return &nfsv4.NfsResop4_OP_CREATE_SESSION{OpcreateSession: c.createSession(&a.OpcreateSession)}, ok
	case *nfsv4.NfsArgop4_OP_BIND_CONN_TO_SESSION:
		c.s.binds++
		c.s.bind(c.conn)
		return &nfsv4.NfsResop4_OP_BIND_CONN_TO_SESSION{OpbindConnToSession: &nfsv4.BindConnToSession4res_NFS4_OK{
			BctsrResok4: nfsv4.BindConnToSession4resok{BctsrSessid: c.s.session(), BctsrDir: nfsv4.CDFS4_BOTH},
		}}, ok
	case *nfsv4.NfsArgop4_OP_DESTROY_SESSION:
		c.s.bind(nil)
		return &nfsv4.NfsResop4_OP_DESTROY_SESSION{}, ok
	case *nfsv4.NfsArgop4_OP_DESTROY_CLIENTID:
		return &nfsv4.NfsResop4_OP_DESTROY_CLIENTID{}, ok
	case *nfsv4.NfsArgop4_OP_RECLAIM_COMPLETE:
		return &nfsv4.NfsResop4_OP_RECLAIM_COMPLETE{}, ok
	case *nfsv4.NfsArgop4_OP_SEQUENCE:
		res := c.sequence(&a.Opsequence)
		return &nfsv4.NfsResop4_OP_SEQUENCE{Opsequence: res}, res.GetSrStatus()
	}
	if r := c.runFile(op); r != nil {
		return r, ok
	}
	c.s.t.Errorf("Linux sends an operation that the server does not know: %T", op)
	return &nfsv4.NfsResop4_OP_ILLEGAL{Opillegal: nfsv4.Illegal4res{Status: nfsv4.NFS4ERR_OP_ILLEGAL}}, nfsv4.NFS4ERR_OP_ILLEGAL
}

// session returns the id of the session.
func (s *nfs41) session() (id [nfsv4.NFS4_SESSIONID_SIZE]byte) {
	binary.BigEndian.PutUint64(id[:], s.id)
	return id
}

func (s *nfs41) exchangeID() nfsv4.ExchangeId4res {
	// Linux takes two addresses of one owner for the same server.
	owner := binary.BigEndian.AppendUint64(nil, s.id)
	return &nfsv4.ExchangeId4res_NFS4_OK{EirResok4: nfsv4.ExchangeId4resok{
		EirClientid: s.id, EirSequenceid: 1, EirFlags: nfsv4.EXCHGID4_FLAG_USE_NON_PNFS,
		EirStateProtect: &nfsv4.StateProtect4R_SP4_NONE{},
		EirServerOwner:  nfsv4.ServerOwner4{SoMajorId: owner}, EirServerScope: owner,
	}}
}

// createSession grants what Linux asks for. It checks the answer, and takes no more for the back
// channel, and no fewer operations for the other.
func (c *compound) createSession(a *nfsv4.CreateSession4args) nfsv4.CreateSession4res {
	s := c.s
	s.slots = make([]nfs41Slot, a.CsaForeChanAttrs.CaMaxrequests)
	s.program = a.CsaCbProgram
	s.flavor = oncrpc.AuthNone()
	for _, p := range a.CsaSecParms {
		if p, ok := p.(*nfsv4.CallbackSecParms4_AUTH_SYS); ok {
			cred, err := oncrpc.AuthSys(oncrpc.SysCred{
				Stamp: p.CbspSysCred.Stamp, Machine: p.CbspSysCred.Machinename,
				UID: p.CbspSysCred.Uid, GID: p.CbspSysCred.Gid, GIDs: p.CbspSysCred.Gids,
			})
			if err != nil {
				s.t.Errorf("csa_sec_parms: %v", err)
			}
			s.flavor = cred
		}
	}
	n := a.CsaBackChanAttrs.CaMaxrequests
	s.backSlots = make(chan backSlot, n)
	for id := range n {
		s.backSlots <- backSlot{id: id}
	}
	flags := a.CsaFlags & nfsv4.CREATE_SESSION4_FLAG_CONN_BACK_CHAN
	if flags == 0 {
		s.t.Errorf("Linux wants no backward calls: CREATE_SESSION has the flags %#x", a.CsaFlags)
	}
	s.bind(c.conn)
	return &nfsv4.CreateSession4res_NFS4_OK{CsrResok4: nfsv4.CreateSession4resok{
		CsrSessionid: s.session(), CsrSequence: a.CsaSequence, CsrFlags: flags,
		CsrForeChanAttrs: a.CsaForeChanAttrs, CsrBackChanAttrs: a.CsaBackChanAttrs,
	}}
}

// sequence finds the reply to a request that is repeated after a lost connection. On a connection
// that is not bound to the back channel, it says so, or Linux would not bind it.
func (c *compound) sequence(a *nfsv4.Sequence4args) nfsv4.Sequence4res {
	s := c.s
	if a.SaSessionid != s.session() || int(a.SaSlotid) >= len(s.slots) {
		s.t.Errorf("Linux sends a SEQUENCE of session %x, slot %d", a.SaSessionid, a.SaSlotid)
		return &nfsv4.Sequence4res_default{SrStatus: nfsv4.NFS4ERR_BADSESSION}
	}
	slot := &s.slots[a.SaSlotid]
	switch a.SaSequenceid {
	case slot.seq:
		c.repeated = slot.res
	case slot.seq + 1:
		slot.seq++
	default: // a late copy
		return &nfsv4.Sequence4res_default{SrStatus: nfsv4.NFS4ERR_SEQ_MISORDERED}
	}
	c.slot, c.request = slot, nfsv4.ReferringCall4{RcSequenceid: a.SaSequenceid, RcSlotid: a.SaSlotid}
	var flags uint32
	if c.conn != s.back {
		flags = nfsv4.SEQ4_STATUS_CB_PATH_DOWN
	}
	highest := uint32(len(s.slots) - 1)
	return &nfsv4.Sequence4res_NFS4_OK{SrResok4: nfsv4.Sequence4resok{
		SrSessionid: a.SaSessionid, SrSequenceid: a.SaSequenceid, SrSlotid: a.SaSlotid,
		SrHighestSlotid: highest, SrTargetHighestSlotid: highest, SrStatusFlags: flags,
	}}
}

// bind makes a connection the one for backward calls; s.mu is held.
func (s *nfs41) bind(conn oncrpc.Transport) {
	if s.back != conn {
		s.back, s.answered = conn, 0
	}
	s.changed()
}

// changed wakes await; s.mu is held.
func (s *nfs41) changed() {
	close(s.news)
	s.news = make(chan struct{})
}
