package wire

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linuxSends is what Linux's client and server sent each other; it says itself how it was made.
//
//go:embed testdata/nfs3-siw.sends
var linuxSends string

// sent is one RDMA Send of that.
type sent struct {
	client     bool
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
		s := sent{client: f[0] == "client"}
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

// TestLinuxSends: each message of Linux's is understood, agrees with itself and with its answer,
// and is encoded here as it was there. No truncation of its header is understood.
func TestLinuxSends(t *testing.T) {
	calls := map[uint32]*Header{}
	for i, s := range captured(t) {
		h := new(Header)
		n, err := h.Parse(s.bytes)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if diff := cmp.Diff(s.bytes[:n], h.Append(nil)); diff != "" {
			t.Errorf("message %d, header encoded again (-want +got):\n%s", i, diff)
		}
		for j := range n {
			if _, err := new(Header).Parse(s.bytes[:j]); err == nil {
				t.Errorf("message %d: %d bytes of a header of %d are taken for one", i, j, n)
			}
		}
		body := s.bytes[n:]
		if len(body) > 0 && binary.BigEndian.Uint32(body) != h.XID {
			t.Errorf("message %d: %x does not begin with the header's XID %#x", i, body, h.XID)
		}
		if s.client {
			checkCall(t, i, h, body)
			calls[h.XID] = h
			continue
		}
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
}

// checkCall checks a call. A read chunk is the data of a WRITE: its last argument, after its
// length.
func checkCall(t *testing.T, i int, h *Header, body []byte) {
	t.Helper()
	if h.Credits != 128 || h.Type != TypeMsg {
		t.Errorf("message %d: %v requests %d credits, want 128", i, h.Type, h.Credits)
	}
	var lists Lists
	limits := Limits{Bytes: 1 << 20, Inline: len(body)}
	if err := Check(Call, h, &limits, &lists); err != nil {
		t.Errorf("message %d: %v", i, err)
	}
	for _, c := range lists.Reads {
		if c.Position != len(body) || c.Len != lastWord(body) {
			t.Errorf("message %d: read chunk of %d bytes at %d, want %d at %d",
				i, c.Len, c.Position, lastWord(body), len(body))
		}
	}
}

// lastWord returns the length of the data behind b.
func lastWord(b []byte) int { return int(binary.BigEndian.Uint32(b[len(b)-4:])) }

// checkReply checks a reply. A write chunk is the data of a READ: its last result, after its
// length.
func checkReply(t *testing.T, i int, s *sent, h, call *Header, body []byte) {
	t.Helper()
	if h.Credits != 64 {
		t.Errorf("message %d: %d credits granted, want 64", i, h.Credits)
	}
	// svcrdma invalidates the handle of a call if the call has exactly one.
	handle, alone := call.OneHandle()
	if alone && s.invalidate != handle || !alone && s.invalidate != 0 {
		t.Errorf("message %d: handle %#x invalidated, the call's is %#x, alone %v",
			i, s.invalidate, handle, alone)
	}
	if len(h.Writes) != len(call.Writes) {
		t.Fatalf("message %d: %d write chunks returned of %d", i, len(h.Writes), len(call.Writes))
	}
	var lists Lists
	err := Check(Reply, h, &Limits{Inline: len(body), Offered: &call.Lists}, &lists)
	for _, n := range lists.Written {
		if n != lastWord(body) {
			t.Errorf("message %d: %d bytes written, want %d", i, n, lastWord(body))
		}
	}
	n := lists.ReplyLen
	if inChunk := h.Type == TypeNoMsg; err != nil || inChunk != (n > 0) ||
		inChunk == (len(body) > 0) {
		t.Errorf("message %d: %d bytes in the reply chunk, %d behind the header, error %v",
			i, n, len(body), err)
	}
}
