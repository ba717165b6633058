//go:build interop

package linux

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readReply matches tshark's summary of the reply to a READ.
var readReply = regexp.MustCompile(`^V3 READ Reply .* Len: (\d+)`)

// knownFault reports whether tshark 4.0 wrongly calls a packet malformed. The packet is the reply
// to a READ whose data comes by write chunk, of this many segments. If the length of the data is
// not a multiple of 4, tshark computes padding, which is not sent, from the length that the client
// offered. If there are several segments, it takes the first for all of the data.
func knownFault(info string, segments string) bool {
	m := readReply.FindStringSubmatch(info)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && (n%4 != 0 || segments != "" && segments != "1")
}

// decoded is what tshark found in a capture.
type decoded struct {
	Frames, Calls, Replies int // over RDMA
	Known                  int // replies that come out malformed and are not
	TCP                    int // calls and replies over TCP

	exchanges map[string]*exchange // over RDMA, by the client's port and XID
}

// checkCapture decodes the connections to a server in a capture with tshark. tshark must understand
// everything over iWARP and TCP, and every call over RDMA must have its reply.
func checkCapture(t *testing.T, file string, s *nfsd) {
	t.Helper()
	d, rest := decode(t, file, s.RDMA, s.TCP)
	if rest > 0 {
		t.Errorf("%d bytes of incomplete FPDUs", rest)
	}
	if d.Calls != d.Replies {
		t.Errorf("%d calls and %d replies", d.Calls, d.Replies)
	}
}

// checkCutCapture is checkCapture for connections that were cut. These may end inside an FPDU, and
// leave calls without reply.
func checkCutCapture(t *testing.T, file string, rdma, tcp int) {
	t.Helper()
	d, rest := decode(t, file, rdma, tcp)
	t.Logf("%d bytes of incomplete FPDUs", rest)
	if d.Calls < d.Replies {
		t.Errorf("%d calls and %d replies", d.Calls, d.Replies)
	}
}

// decode decodes what went to the ports of a server with tshark. It also returns the bytes of
// incomplete FPDUs.
func decode(t *testing.T, file string, rdma int, tcp ...int) (d decoded, rest int) {
	t.Helper()
	whole, rest := recut(readPcap(t, file), rdma)
	again := filepath.Join(t.TempDir(), "recut.pcap")
	writePcap(t, again, whole)
	d.exchanges = make(map[string]*exchange)
	for _, line := range dissect(t, again, "tcp", "iwarp_mpa", "rpcordma.xid", "rpc.msgtyp", "rpcordma.segment_count", "_ws.malformed", "_ws.col.Info",
		"tcp.srcport", "tcp.dstport", "rpcordma.msg_type", "rpc.procedure") {
		d.Frames++
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		d.exchange(f[1], f[6], f[7], f[8], f[9], strconv.Itoa(rdma))
		switch f[2] {
		case "0":
			d.Calls++
		case "1":
			d.Replies++
		}
		switch {
		case f[4] != "" && knownFault(f[5], f[3]):
			d.Known++
		case f[4] != "":
			t.Errorf("tshark: %s", f[5])
		case f[0] == "":
			t.Errorf("tshark does not see iWARP in %s", f[5])
		}
	}
	overTCP := filepath.Join(t.TempDir(), "tcp.pcap")
	selectPcap(t, file, overTCP, tcp)
	for _, line := range dissect(t, overTCP, "rpc", "_ws.malformed", "_ws.col.Info") {
		d.TCP++
		if malformed, info, _ := strings.Cut(line, "\t"); malformed != "" {
			t.Errorf("tshark: %s", info)
		}
	}
	t.Logf("tshark: %d frames, %d calls and %d replies over RDMA, %d of them known to come out malformed, %d calls and replies over TCP",
		d.Frames, d.Calls, d.Replies, d.Known, d.TCP)
	if d.Frames != len(whole) || d.Calls == 0 || d.TCP == 0 {
		t.Errorf("tshark has decoded %d frames, want %d, and calls over both", d.Frames, len(whole))
	}
	return d, rest
}

// otherHeuristics find other protocols in what looks like them, such as file data that begins with
// an Ethertype and two bytes of zero.
var otherHeuristics = []string{
	"eth_over_ib", "iser_infiniband", "lnet_ib", "mellanox_eoib", "nvme_rdma", "sdp_infiniband",
	"smb_direct_infiniband", "smb_direct_iwarp", "smcr_infiniband",
}

// dissect prints fields of the packets that match a filter with tshark, one packet on a line.
func dissect(t *testing.T, file, filter string, fields ...string) []string {
	t.Helper()
	return dissectWith(t, file, filter, nil, fields...)
}

// dissectWith is dissect with more options.
func dissectWith(t *testing.T, file, filter string, options []string, fields ...string) []string {
	t.Helper()
	args := []string{
		"-2", "-r", file, "-Y", filter, "-T", "fields",
		// Its own reassembly of Sends gets in the way of that of RPC-over-RDMA.
		"-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE",
		// A server's port may be one that tshark knows for another protocol, such as 44818.
		"-o", "tcp.try_heuristic_first:TRUE",
	}
	for _, name := range otherHeuristics {
		args = append(args, "--disable-heuristic", name)
	}
	args = append(args, options...)
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.CommandContext(t.Context(), "tshark", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark (apt-get install tshark): %v\n%s", err, stderr.String())
	}
	return slices.Collect(strings.Lines(string(out)))
}
