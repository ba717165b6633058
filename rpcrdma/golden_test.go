package rpcrdma_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// linuxSends is what Linux's client and server sent each other; it says itself how it was made.
//
//go:embed testdata/nfs3-siw.sends
var linuxSends string

// sent is one RDMA Send of that.
type sent struct {
	client     bool
	proc       string // NFS procedure
	invalidate uint32 // of a Send with Invalidate, otherwise 0
	bytes      []byte
}

func captured(t testing.TB) (all []sent) {
	t.Helper()
	for line := range strings.Lines(linuxSends) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("%d fields: %s", len(f), line)
		}
		s := sent{client: f[0] == "client", proc: f[1]}
		if f[2] != "-" {
			h, err := strconv.ParseUint(f[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			s.invalidate = uint32(h)
		}
		var err error
		if s.bytes, err = hex.DecodeString(f[3]); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// kinds counts messages by what their headers say.
type kinds struct {
	msg, noMsg            int
	reads, writes, reply  int // messages with the list, or the chunk
	invalidate            int
	readBytes, writeBytes int // bytes in the lists
}

func (k *kinds) count(s *sent, h *rpcrdma.Header) {
	for _, c := range []struct {
		n  *int
		is bool
	}{
		{&k.msg, h.Type == rpcrdma.TypeMsg},
		{&k.noMsg, h.Type == rpcrdma.TypeNoMsg},
		{&k.reads, len(h.Reads) > 0},
		{&k.writes, len(h.Writes) > 0},
		{&k.reply, h.HasReply},
		{&k.invalidate, s.invalidate != 0},
	} {
		if c.is {
			*c.n++
		}
	}
	for _, r := range h.Reads {
		k.readBytes += int(r.Length)
	}
	for _, w := range h.Writes {
		k.writeBytes += int(w.Len())
	}
}

// Each message of Linux's is understood, agrees with itself and with its answer, and is encoded
// here as it was there.
func TestLinuxSends(t *testing.T) {
	var fromClient, fromServer kinds
	procs := map[string]int{}
	calls := map[uint32]*rpcrdma.Header{}
	for i, s := range captured(t) {
		h := new(rpcrdma.Header)
		n, err := h.Parse(s.bytes)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if diff := cmp.Diff(s.bytes[:n], h.Append(nil)); diff != "" {
			t.Errorf("message %d, header encoded again (-want +got):\n%s", i, diff)
		}
		body := s.bytes[n:]
		if s.client {
			procs[s.proc]++
			fromClient.count(&s, h)
			checkCall(t, i, &s, h, body)
			calls[h.XID] = h
			continue
		}
		fromServer.count(&s, h)
		call := calls[h.XID]
		if call == nil {
			t.Fatalf("message %d: no call with XID %#x", i, h.XID)
		}
		delete(calls, h.XID)
		checkReply(t, i, &s, h, call, body)
	}
	if len(calls) > 0 {
		t.Errorf("%d calls without a reply", len(calls))
	}

	// What the beginning of the capture says. Reads land in write chunks; the first are 6, 300,001
	// and 200,003 bytes. Only two of the three WRITEs need a read chunk. READDIRPLUS, READLINK and
	// GETACL get a reply chunk, because their replies could be long.
	wantClient := kinds{
		msg: 70, reads: 2, writes: 10, reply: 6,
		readBytes:  200_003,
		writeBytes: fromClient.writeBytes, // the capture does not say what is offered
	}
	wantServer := kinds{
		msg: 64, noMsg: 6, writes: 10, reply: 6, invalidate: 12,
		writeBytes: 6 + 300_001 + 200_003,
	}
	if fromClient != wantClient {
		t.Errorf("client sent %+v, want %+v", fromClient, wantClient)
	}
	if fromServer != wantServer {
		t.Errorf("server sent %+v, want %+v", fromServer, wantServer)
	}
	wantProcs := map[string]int{
		"NULL": 2, "GETATTR": 7, "SETATTR": 2, "LOOKUP": 12, "ACCESS": 12, "READLINK": 2, "READ": 10,
		"WRITE": 3, "CREATE": 2, "MKDIR": 1, "SYMLINK": 1, "REMOVE": 4, "RMDIR": 1, "RENAME": 1, "LINK": 1,
		"READDIRPLUS": 2, "FSSTAT": 1, "FSINFO": 2, "PATHCONF": 1, "COMMIT": 1,
		"GETACL": 2, // of the NFSACL program
	}
	if diff := cmp.Diff(wantProcs, procs); diff != "" {
		t.Errorf("procedures (-want +got):\n%s", diff)
	}
}

// checkCall decodes a call.
func checkCall(t *testing.T, i int, s *sent, h *rpcrdma.Header, body []byte) {
	t.Helper()
	if h.Credits != 128 {
		t.Errorf("message %d: %d credits requested, want 128", i, h.Credits)
	}
	reads, err := h.ReadChunks(nil, 1<<20)
	if err == nil {
		err = chunks.CheckPositions(reads, len(body))
	}
	if err != nil {
		t.Errorf("message %d: %v", i, err)
	}
	var args []xdr.Chunk
	for _, c := range reads {
		args = append(args, xdr.Chunk{Position: c.Position, Len: c.Len, Data: make([]byte, c.Len)})
	}
	var d xdr.Decoder
	d.Reset(body, args)
	if xid := d.Uint32(); xid != h.XID {
		t.Errorf("message %d: XID %#x, in the header %#x", i, xid, h.XID)
	}
	if typ := oncrpc.MsgType(d.Uint32()); typ != oncrpc.MsgCall {
		t.Errorf("message %d: message type %d", i, typ)
	}
	if v := d.Uint32(); v != oncrpc.Version {
		t.Errorf("message %d: RPC version %d", i, v)
	}
	d.Uint32() // program
	d.Uint32() // version
	d.Uint32() // procedure
	for range 2 {
		d.Uint32() // flavour
		d.Opaque(oncrpc.MaxAuthBody)
	}
	if s.proc == "WRITE" { // the read chunk is at the position of the data
		d.Opaque(64)
		d.Uint64()
		count := d.Uint32()
		d.Uint32()
		if data := d.Bulk(1 << 20); data.Len() != int(count) {
			t.Errorf("message %d: %d bytes of data, want %d", i, data.Len(), count)
		}
		if err := d.Finish(); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if d.Err() != nil {
		t.Errorf("message %d: %v", i, d.Err())
	}
}

// checkReply decodes a reply.
func checkReply(t *testing.T, i int, s *sent, h, call *rpcrdma.Header, body []byte) {
	t.Helper()
	if h.Credits != 64 {
		t.Errorf("message %d: %d credits granted, want 64", i, h.Credits)
	}
	// svcrdma invalidates the handle of a call if the call has exactly one.
	if handle, ok := call.OneHandle(); (ok && s.invalidate != handle) || (!ok && s.invalidate != 0) {
		t.Errorf("message %d: handle %#x invalidated, the call's is %#x, alone %v", i, s.invalidate, handle, ok)
	}
	if len(h.Writes) != len(call.Writes) {
		t.Fatalf("message %d: %d write chunks returned of %d", i, len(h.Writes), len(call.Writes))
	}
	var results []xdr.Chunk
	for j, w := range h.Writes {
		n, err := chunks.WrittenLen(call.Writes[j], w, false)
		if err != nil {
			t.Errorf("message %d: %v", i, err)
		}
		results = append(results, xdr.Chunk{Position: xdr.Floating, Len: n, Data: make([]byte, n)})
	}
	if h.Type == rpcrdma.TypeNoMsg { // the reply is in the reply chunk
		if n, err := chunks.WrittenLen(call.Reply, h.Reply, false); err != nil || n == 0 || len(body) > 0 {
			t.Errorf("message %d: %d bytes in the reply chunk, %d behind the header, error %v", i, n, len(body), err)
		}
		return
	}
	var d xdr.Decoder
	d.Reset(body, results)
	if xid := d.Uint32(); xid != h.XID {
		t.Errorf("message %d: XID %#x, in the header %#x", i, xid, h.XID)
	}
	if typ := oncrpc.MsgType(d.Uint32()); typ != oncrpc.MsgReply {
		t.Errorf("message %d: message type %d", i, typ)
	}
	if !bytes.Equal(d.Raw(16), make([]byte, 16)) { // accepted, no verifier, success
		t.Errorf("message %d: %x is no success", i, body)
	}
	if s.proc == "READ" {
		if status := d.Uint32(); status != 0 {
			t.Errorf("message %d: READ status %d", i, status)
		}
		if d.Bool() {
			d.Raw(84) // attributes
		}
		count := d.Uint32()
		d.Bool() // eof
		if data := d.Bulk(1 << 20); data.Len() != int(count) {
			t.Errorf("message %d: %d bytes of data, want %d", i, data.Len(), count)
		}
		if err := d.Finish(); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if d.Err() != nil {
		t.Errorf("message %d: %v", i, d.Err())
	}
}

// Every truncation of a message of Linux's header fails.
func TestLinuxSendsTruncated(t *testing.T) {
	var h rpcrdma.Header
	for i, s := range captured(t) {
		n, err := h.Parse(s.bytes)
		if err != nil {
			t.Fatal(err)
		}
		for j := range n {
			if _, err := h.Parse(s.bytes[:j]); err == nil {
				t.Fatalf("message %d: first %d bytes of a header of %d are taken for one", i, j, n)
			}
		}
	}
}
