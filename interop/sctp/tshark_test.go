//go:build interop

package sctp

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// dissect decodes a capture with tshark. It returns a line for each packet that matches a filter,
// with the present fields as "name=value".
func dissect(t *testing.T, file, filter string, prefs, fields []string) []string {
	t.Helper()
	args := []string{"-X", "lua_script:ddp.lua", "-r", file, "-Y", filter,
		"-o", "sctp.checksum:crc-32c", "-T", "fields", "-E", "separator=|"}
	for _, pref := range prefs {
		args = append(args, "-o", pref)
	}
	for _, field := range fields {
		args = append(args, "-e", field)
	}
	cmd := exec.CommandContext(t.Context(), "tshark", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.String())
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(values) != len(fields) {
			t.Fatalf("tshark has %q for the fields %q", values, fields)
		}
		var found []string
		for i, value := range values {
			if value != "" {
				name := fields[i][strings.LastIndex(fields[i], ".")+1:]
				found = append(found, name+"="+value)
			}
		}
		lines = append(lines, strings.Join(found, " "))
	}
	return lines
}

// tshark finds the indication in INIT and INIT ACK, and good checksums in all packets.
func TestCheckedByTshark(t *testing.T) {
	l, c, r := pair(t, nil)
	c.send(0, 17, true, "00000001")
	l.receive()
	file := filepath.Join(evidence.Dir(t), "capture.pcap")
	writePcap(t, file, r.datagrams())

	got := dissect(t, file, "sctp.adaptation_layer_indication", nil,
		[]string{"udp.srcport", "sctp.adaptation_layer_indication"})
	want := []string{
		fmt.Sprintf("srcport=%d adaptation_layer_indication=0x00000001", clientPort),
		fmt.Sprintf("srcport=%d adaptation_layer_indication=0x00000001", sctpPort),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("indications (-want +got):\n%s", diff)
	}
	const good = "status=1"
	for i, status := range dissect(t, file, "sctp", nil, []string{"sctp.checksum.status"}) {
		if status != good {
			t.Errorf("checksum of packet %d: %s, want %s", i, status, good)
		}
	}
}

// TestLua: with ddp.lua, tshark shows session control and DDP segments, and decodes their contents.
func TestLua(t *testing.T) {
	const (
		// An untagged segment: DDP and RDMAP control, Invalidate STag, queue, sequence number,
		// offset.
		send        = "41 43 00000000 00000000 00000001 00000000"
		readRequest = "41 41 00000000 00000001 00000002 00000000" +
			"00001111 0000000000002222 00000010 00003333 0000000000004444"
		// A tagged one: DDP and RDMAP control, STag, offset.
		write = "c1 40 00001234 0000000000005678 c0ffee"
		// RPC-over-RDMA: XID, version, credits, RDMA_MSG, no chunks. RPC: a call of NFSv3's NULL.
		header = "0000002a 00000001 00000020 00000000 00000000 00000000 00000000"
		call   = "0000002a 00000000 00000002 000186a3 00000003 00000000" +
			"00000000 00000000 00000000 00000000"

		written = "tagged_flag=1 stag=0x00001234 tagged_offset=0x0000000000005678 " +
			"opcode=0x00 data=c0ffee"
		notDDP = "message=Malformed Packet (Exception occurred)" // as IUA or M2UA
	)
	longest := strings.Repeat("a5", 512)
	messages := []struct {
		name  string
		ppid  uint32
		bytes string
		want  string
		draft string // what the draft's mode makes of it, if that is something else
	}{
		{"Initiate", 17, "0000 0001 beef", "ssn=0 function=1 private_data=beef", ""},
		{"Accept", 17, "0000 0002", "ssn=0 function=2", ""},
		{"Reject", 17, "0000 0003", "ssn=0 function=3", ""},
		{"Terminate", 17, "ffff 0004", "ssn=65535 function=4", ""},
		{"Terminate with private data", 17, "0001 0004 00",
			"ssn=1 function=4 private_data=00 message=Terminate has private data", ""},
		{"Enhanced Initiate", 17, "0000 0005 c0108011 beef",
			"ssn=0 function=5 a=1 b=1 ird=16 c=1 d=0 ord=17 private_data=beef", ""},
		{"Enhanced Accept", 17, "0000 0006 3fff4000",
			"ssn=0 function=6 a=0 b=0 ird=16383 c=0 d=1 ord=0", ""},
		{"Enhanced Reject", 17, "0000 0007 80003fff",
			"ssn=0 function=7 a=1 b=0 ird=0 c=0 d=0 ord=16383", ""},
		{"Enhanced Initiate, cut off", 17, "0000 0005 c01080",
			"ssn=0 function=5 message=Cut off in the enhanced data", ""},
		{"longest private data", 17, "0000 0001" + longest,
			"ssn=0 function=1 private_data=" + longest, ""},
		{"too much private data", 17, "0000 0001 00" + longest,
			"ssn=0 function=1 private_data=00" + longest + " message=Private data is too long", ""},
		{"unknown function", 17, "0000 0008", "ssn=0 function=8", ""},
		{"control, cut off", 17, "0000 00", "message=Cut off in the header", ""},
		{"Send", 16, "0002" + send + header + call,
			"ssn=2 tagged_flag=0 qn=0 msn=1 mo=0 opcode=0x03 xid=0x0000002a program=100003", ""},
		{"Write", 16, "0003" + write, "ssn=3 " + written, ""},
		{"Read Request", 16, "0004" + readRequest,
			"ssn=4 tagged_flag=0 qn=1 msn=2 mo=0 opcode=0x01 rdmardsz=16", ""},
		{"no segment", 16, "0005", "ssn=5 message=There is no DDP segment", ""},
		{"segment, cut off", 16, "00", "message=Cut off in the DDP-SSN", ""},
		{"draft's Write", 1, write, notDDP, written},
		{"draft's Reset", 1, "00000001", notDDP, "draft_function=1"},
		{"draft's Reset, as control", 2, "00000001", notDDP, "draft_function=1"},
		{"draft's control, cut off", 2, "000000", notDDP, "message=Cut off in the function code"},
	}
	l, c, r := pair(t, nil)
	for _, m := range messages {
		// One at a time, so that each has its own packet.
		c.send(1, m.ppid, true, fmt.Sprintf("%x", unhex(t, m.bytes)))
		l.receive()
	}
	file := filepath.Join(evidence.Dir(t), "capture.pcap")
	writePcap(t, file, r.datagrams())

	fields := []string{"ddp_sctp.ssn", "ddp_sctp.function", "ddp_sctp.draft_function",
		"ddp_sctp.a", "ddp_sctp.b", "ddp_sctp.ird", "ddp_sctp.c", "ddp_sctp.d", "ddp_sctp.ord",
		"ddp_sctp.private_data", "_ws.expert.message", "iwarp_ddp.tagged_flag", "iwarp_ddp.stag",
		"iwarp_ddp.tagged_offset", "iwarp_ddp.qn", "iwarp_ddp.msn", "iwarp_ddp.mo",
		"iwarp_rdma.opcode", "iwarp_rdma.rdmardsz", "rpcordma.xid", "rpc.program", "data.data"}
	const withData = "sctp.data_payload_proto_id && !sctp.retransmission"
	for _, draft := range []bool{false, true} {
		t.Run(fmt.Sprintf("draft=%t", draft), func(t *testing.T) {
			pref := "ddp_sctp.draft:" + strconv.FormatBool(draft)
			got := dissect(t, file, withData, []string{pref}, fields)
			if len(got) != len(messages) {
				t.Fatalf("tshark has %d messages, want %d:\n%s",
					len(got), len(messages), strings.Join(got, "\n"))
			}
			for i, m := range messages {
				want := m.want
				if draft && m.draft != "" {
					want = m.draft
				}
				if got[i] != want {
					t.Errorf("%s:\n%s, want\n%s", m.name, got[i], want)
				}
			}
		})
	}
}
