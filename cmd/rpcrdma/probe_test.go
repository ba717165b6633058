package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestProbe: a healthy server has no failures, and all findings.
func TestProbe(t *testing.T) {
	s := startServe(t, "--provider", "iwarp,sctp", "--sctp-udp", "0", "--memory", "/a", "--memory",
		"/b", "--squash", "none", "--credits", "32")
	mountAs(t, dialTCP(t, s.tcp), 1000, "/a").put(t, "file", rig.Pattern(100_000))
	sctp, options := s.sctpURL(t)
	for _, tt := range []struct {
		name, url string
		want      map[string]map[string]any // values, by step
	}{
		{"iWARP", "rdma://" + s.rdma + "/a", map[string]map[string]any{
			"name": {"host": "127.0.0.1"},
			"port": {"speaks": "iWARP"},
			"mpa": {"revision": 2.0, "crc": false, "markersToServer": false, "serverIRD": 16.0,
				"serverORD": 16.0, "rtr": "write", "privateData": true,
				"serverInlineSend": 4096.0, "serverInlineRecv": 4096.0, "remoteInvalidation": true},
			"call":  {"credits": 32.0, "inlineSend": 4096.0, "inlineRecv": 4096.0},
			"conf":  {"program": 100400.0, "inlineRecv": 65536.0},
			"mount": {"export": "/a"},
			"root":  {"mode": "1777", "rtmax": 1048576.0},
			"read":  {"file": "/a/file", "size": 100_000.0, "read": 65536.0},
			"mtu":   {"toServer": 3072.0, "fromServer": true},
		}},
		{"SCTP", sctp + "/a" + options, map[string]map[string]any{
			"port": {"speaks": "iWARP"},
			"mpa":  {"serverIRD": 16.0, "privateData": true},
			"call": {"credits": 32.0},
			"read": {"read": 65536.0},
		}},
		{"TCP", "tcp://" + s.tcp + "/a/file", map[string]map[string]any{
			"port": {"speaks": "RPC over TCP"},
			"call": {"tls": false},
			"read": {"file": "/a/file", "read": 65536.0},
			"mtu":  {"toServer": 16384.0, "fromServer": true},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := probing{}.of(t, tt.url)
			if !r.OK || len(r.Causes) > 0 {
				t.Errorf("not all is well:\n%s", r.lines())
			}
			for step, values := range tt.want {
				f := r.find(t, step, probe.OK)
				for k, want := range values {
					if f.Values[k] != want {
						t.Errorf("%s: %s is %v, want %v", step, k, f.Values[k], want)
					}
				}
			}
		})
	}
}

// TestProbeText: the output for people.
func TestProbeText(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	text := probing{}.text(t, "rdma://"+s.rdma+"/a")
	for _, want := range []string{
		"ok      port     port " + s.rdma + ": iWARP\n",
		"ok      mount    /a can be mounted from this host\n",
		"\nrdma://" + s.rdma + "/a can be used.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text = probing{}.text(t, "rdma://"+s.tcp)
	for _, want := range []string{
		"FAIL    port     ports-swapped: port " + s.tcp + ": RPC over TCP, not iWARP\n" +
			"                 -> the scheme of the URL is wrong for this port: write tcp://" + s.tcp + "\n",
		"skipped mpa, call, conf, program, mount, root, read, mtu\n\n",
		"\nrdma://" + s.tcp + "/ cannot be used: ports-swapped.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestProbeExit: the exit codes, and that JSON is the only output.
func TestProbeExit(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	for _, tt := range []struct {
		args string
		code int
	}{
		{"probe --json rdma://" + s.rdma + "/a", cli.ExitOK},
		{"probe --json rdma://" + s.tcp, cli.ExitFailed},
	} {
		code, stdout, stderr := execute(t, strings.Fields(tt.args)...)
		var r probe.Report
		err := json.Unmarshal([]byte(stdout), &r)
		if err != nil || code != tt.code || stderr != "" {
			t.Errorf("%s: exit %d, want %d; %v: %s%s", tt.args, code, tt.code, err, stdout, stderr)
		}
	}
	for args, want := range map[string]string{
		"probe":                          "no server: write rdma://HOST",
		"probe a b":                      `unknown argument "b"`,
		"probe rdma://":                  "no host",
		"probe ftp://h":                  "unknown scheme ftp",
		"probe --timeout 0 h":            "write a number above 0",
		"probe --json --timeout nowhere": "write a number above 0",
	} {
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		if code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, want %d: %s%s", args, code, cli.ExitUsage, stdout, stderr)
		}
	}
}

// TestProbeInterrupted: an interrupt ends it.
func TestProbeInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // which says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, err := probe.ParseTarget(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	out := newTranscript()
	p, err := probe.NewProber(probe.NewFlags(), at, out)
	if err != nil {
		t.Fatal(err)
	}
	p.Flags.Timeout.Duration = reach.UnmountTime * 3600
	p.Usual = nil
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		ended <- p.Run(ctx)
		close(over)
	}()
	out.await("name", over)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestProbeNoExport: a path outside of all exports, and a server without exports.
func TestProbeNoExport(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	r := probing{}.of(t, "tcp://"+s.tcp+"/b")
	f := r.names(t, "mount", probe.Fail, probe.CauseNoExport)
	if !strings.Contains(f.Do, "it exports /a") {
		t.Errorf("to do: %s, want what is exported", f.Do)
	}
	none := tcpServer(t, programsOf(t, nfsserver.Export{Path: "/", FS: exported(t)})...)
	if r := (probing{}).of(t, "tcp://"+none); !r.OK {
		t.Errorf("an export /:\n%s", r.lines())
	}
}
