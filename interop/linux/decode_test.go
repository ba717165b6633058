//go:build interop

package linux

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readReply is what tshark says of the reply to a READ.
var readReply = regexp.MustCompile(`^V3 READ Reply .* Len: (\d+)`)

// knownFault reports whether tshark (4.0) is wrong about a malformed packet. It is about the reply to a READ whose data comes
// by write chunk and has not a length that is a multiple of 4: it reckons the round-up, which is not sent, from the length that the
// client offered.
func knownFault(info string) bool {
	m := readReply.FindStringSubmatch(info)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n%4 != 0
}

// decoded is what tshark has found in a capture.
type decoded struct {
	Frames, Calls, Replies int // over RDMA
	Known                  int // replies that come out malformed and are not
	TCP                    int // calls and replies over TCP
}

// checkCapture has tshark decode the connections to a server in a capture: all of what went by iWARP and by TCP is understood, and every
// call over RDMA has its reply.
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

// checkCutCapture is checkCapture for connections that were cut: they leave the rest of an FPDU, and calls without reply.
func checkCutCapture(t *testing.T, file string, rdma, tcp int) {
	t.Helper()
	d, rest := decode(t, file, rdma, tcp)
	t.Logf("%d bytes of incomplete FPDUs", rest)
	if d.Calls < d.Replies {
		t.Errorf("%d calls and %d replies", d.Calls, d.Replies)
	}
}

// decode has tshark decode what went to the ports of a server, and returns that with the bytes of incomplete FPDUs.
func decode(t *testing.T, file string, rdma, tcp int) (d decoded, rest int) {
	t.Helper()
	whole, rest := recut(readPcap(t, file), rdma)
	again := filepath.Join(t.TempDir(), "recut.pcap")
	writePcap(t, again, whole)
	for _, line := range dissect(t, again, "tcp", "iwarp_mpa", "rpcordma.xid", "rpc.msgtyp", "_ws.malformed", "_ws.col.Info") {
		d.Frames++
		f := strings.Split(line, "\t")
		switch f[2] {
		case "0":
			d.Calls++
		case "1":
			d.Replies++
		}
		switch {
		case f[3] != "" && knownFault(f[4]):
			d.Known++
		case f[3] != "":
			t.Errorf("tshark: %s", f[4])
		case f[0] == "":
			t.Errorf("tshark does not see iWARP in %s", f[4])
		}
	}
	for _, line := range dissect(t, file, fmt.Sprintf("tcp.port == %d && rpc", tcp), "_ws.malformed", "_ws.col.Info") {
		d.TCP++
		if malformed, info, _ := strings.Cut(line, "\t"); malformed != "" {
			t.Errorf("tshark: %s", info)
		}
	}
	t.Logf("tshark: %+v", d)
	if d.Frames != len(whole) || d.Calls == 0 || d.TCP == 0 {
		t.Errorf("tshark has decoded %+v, want %d frames, calls, and calls over TCP", d, len(whole))
	}
	return d, rest
}

// dissect has tshark print fields of the packets that match a filter, a line for each.
func dissect(t *testing.T, file, filter string, fields ...string) []string {
	t.Helper()
	args := []string{
		"-2", "-r", file, "-Y", filter, "-T", "fields",
		// Its own reassembly of Sends gets in the way of that of RPC-over-RDMA.
		"-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE",
	}
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
