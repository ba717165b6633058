//go:build interop

package tshark

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// TestTrace: tshark decodes the file that the command writes with --trace: the layers of each
// transport, each NFS call with its reply, and the data of WRITE and READ. The checksums are good,
// and tshark reports no problems.
func TestTrace(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := evidence.Dir(t)
	data := bytes.Repeat([]byte("0123456789abcde\n"), 12500)
	up, down := filepath.Join(dir, "up"), filepath.Join(dir, "down")
	if err := os.WriteFile(up, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name+".pcap") }
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	copyFile := func(name, base, options string) {
		t.Helper()
		run("put", "-q", "--trace", file(name+"-put"), up, base+"/export/"+name+options)
		run("get", "-q", "--trace", file(name+"-get"), base+"/export/"+name+options, down)
		if got, err := os.ReadFile(down); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back, %v", name, len(got), err)
		}
	}
	server := served.Start(t, command, "--memory", "/export", "--squash", "none",
		"--provider", "iwarp,sctp", "--trace", file("serve"))
	tcp, rdma := strconv.Itoa(server.TCP), strconv.Itoa(server.RDMA)
	copyFile("tcp", "tcp://127.0.0.1:"+tcp, "")
	copyFile("iwarp", "rdma://127.0.0.1:"+rdma, "")
	copyFile("sctp", "rdma+sctp://127.0.0.1:"+rdma, "")
	callTwice(t, file("same-port"), "127.0.0.1:"+tcp)
	server.Stop()
	host := rocerig.Addr(t)
	server = served.StartAt(t, host, command, "--memory", "/export", "--squash", "none",
		"--provider", "roce", "--trace", file("serve-roce"))
	copyFile("roce", fmt.Sprintf("rdma+roce://%v:%d", host, server.RDMA), "")
	server.Stop()
	run("demo", "--provider", "iwarp", "--trace", file("demo-iwarp"), up)
	run("demo", "--provider", "loopback", "--trace", file("demo-loopback"), up)

	const (
		overTCP   = "raw:ip:tcp:rpc"
		overIWARP = "raw:ip:tcp:iwarp_mpa:iwarp_ddp_rdmap:rpcordma:rpc"
		overRoCE  = "raw:ip:udp:infiniband:rpcordma:rpc"
		overSCTP  = "raw:ip:udp:sctp:ddp_sctp_segment:iwarp_ddp_rdmap:rpcordma:rpc"

		reads  = "1 6" // READ's replies, and WRITE's calls: msg_type and procedure
		writes = "0 7"
	)
	for _, tt := range []struct {
		name   string
		layers []string // in the order of the alphabet
		moved  []string // in what kinds of messages the whole file is
	}{
		{"tcp-put", []string{overTCP}, []string{writes}},
		{"tcp-get", []string{overTCP}, []string{reads}},
		{"iwarp-put", []string{overIWARP}, []string{writes}},
		{"iwarp-get", []string{overIWARP}, []string{reads}},
		{"sctp-put", []string{overSCTP}, []string{writes}},
		{"sctp-get", []string{overSCTP}, []string{reads}},
		{"serve", []string{overIWARP, overTCP, overSCTP}, []string{writes, reads}},
		{"roce-put", []string{overRoCE}, []string{writes}},
		{"roce-get", []string{overRoCE}, []string{reads}},
		{"serve-roce", []string{overRoCE}, []string{writes, reads}},
		{"demo-iwarp", []string{overIWARP}, []string{writes, reads}},
		{"demo-loopback", []string{overIWARP}, []string{writes, reads}},
		{"same-port", []string{overTCP}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := fields(t, file(tt.name), tcp, "_ws.malformed || _ws.expert.severity == error || "+
				// Clients that come one after the other may have the same port.
				"(tcp.analysis.flags && !tcp.analysis.reused_ports) || "+
				"!(ip.checksum.status == 1) || tcp.checksum.status == 0 || "+
				"udp.checksum.status == 0 || sctp.checksum.status == 0",
				"frame.number", "frame.protocols", "_ws.expert.message")
			if len(bad) > 0 {
				t.Errorf("tshark complains of %d packets, first of %q", len(bad), bad[0])
			}
			var layers, moved []string
			xids := make(map[string]map[string]bool) // by msg_type
			for _, f := range fields(t, file(tt.name), tcp, "nfs",
				"frame.protocols", "rpc.msgtyp", "rpc.xid", "nfs.data", "nfs.procedure_v3") {
				for _, l := range []string{overTCP, overIWARP, overRoCE, overSCTP} {
					if strings.HasPrefix(f[0], l) && !slices.Contains(layers, l) {
						layers = append(layers, l)
					}
				}
				of := strings.Split(f[2], ",")
				for i, kind := range strings.Split(f[1], ",") {
					if xids[kind] == nil {
						xids[kind] = make(map[string]bool)
					}
					xids[kind][of[i]] = true
				}
				kind := f[1] + " " + f[4]
				if f[3] == hex.EncodeToString(data) && !slices.Contains(moved, kind) {
					moved = append(moved, kind)
				}
			}
			slices.Sort(layers)
			if !slices.Equal(layers, tt.layers) {
				t.Errorf("layers %q, want %q", layers, tt.layers)
			}
			if diff := cmp.Diff(xids["0"], xids["1"]); diff != "" || len(xids["0"]) == 0 {
				t.Errorf("calls and replies differ (-calls +replies):\n%s", diff)
			}
			if !slices.Equal(moved, tt.moved) {
				t.Errorf("the file is in %q, want %q", moved, tt.moved)
			}
		})
	}
}

// callTwice calls a server over two connections, which have the same ports in the trace.
func callTwice(t *testing.T, name, server string) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := trace.New(file, trace.Config{})
	if err != nil {
		t.Fatal(err)
	}
	wrap := func(c net.Conn) net.Conn { return w.Dialed(privileged{c}) }
	for range 2 {
		conn, err := recordmark.Dial(t.Context(), server, recordmark.Config{Wrap: wrap})
		if err != nil {
			t.Fatal(err)
		}
		if err := nfsclient.New(conn, nil).Null(t.Context()); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
}

// privileged is a connection that seems to come from a port below 1024.
type privileged struct{ net.Conn }

func (privileged) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:871"))
}

// fields has tshark decode a trace, as its documentation says, and returns the fields of the
// packets of a filter. At port tcp there is RPC.
func fields(
	t *testing.T, file, tcp, filter string, names ...string,
) (all [][]string) {
	t.Helper()
	args := []string{"-2", "-r", file, "-Y", filter, "-T", "fields", "-E", "separator=|",
		"-X", "lua_script:../sctp/ddp.lua",
		// The client's port is below 1024, where tshark may take it for another protocol's.
		"-d", "tcp.port==" + tcp + ",rpc", "-o", "tcp.try_heuristic_first:TRUE",
		"-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE",
		"-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-o", "sctp.checksum:crc-32c"}
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.CommandContext(t.Context(), "tshark", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "|"))
	}
	return all
}
