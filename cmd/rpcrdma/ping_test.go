package main

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

var (
	pingAnswers = regexp.MustCompile(`(?m)^seq=(\d+) time=\S+s$`)
	pingSummary = regexp.MustCompile(`\n\n3 calls, 3 answered, 0% lost, in \S+s\nmin \S+s, p50 \S+s, p99 \S+s, max \S+s\n$`)
)

// TestPing calls a server over either transport, by its URL and by its name alone.
func TestPing(t *testing.T) {
	s := startServe(t, "--memory", "/export")
	for _, tt := range []struct {
		args, head string
	}{
		{"rdma://" + s.rdma, "NULL of program 100003 version 3; connected in"},
		{s.rdma, "rdma://" + s.rdma + " at " + s.rdma + ": NULL of program 100003 version 3; connected in"},
		{"--dialect draft " + s.rdma, "connected in"},
		{"tcp://" + s.tcp, "tcp://" + s.tcp + " at " + s.tcp},
		{"nfs://" + s.tcp, "tcp://" + s.tcp + " at " + s.tcp},
		{"nfs://" + s.tcp[:strings.LastIndex(s.tcp, ":")] + "?rpcbind=" + s.tcp[strings.LastIndex(s.tcp, ":")+1:], "connected in"},
		{"--program 100005 tcp://" + s.tcp, "NULL of program 100005 version 3"},
		{"tcp://" + s.tcp[:strings.LastIndex(s.tcp, ":")] + "?rpcbind=" + s.tcp[strings.LastIndex(s.tcp, ":")+1:], "connected in"},
	} {
		code, stdout, stderr := execute(t, append([]string{"ping", "--count", "3", "--interval", "0"}, strings.Fields(tt.args)...)...)
		if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, tt.head) || len(pingAnswers.FindAllString(stdout, -1)) != 3 || !pingSummary.MatchString(stdout) {
			t.Errorf("ping %s: exit %d: %s%s", tt.args, code, stdout, stderr)
		}
	}
}

// TestPingFails: messages if there is no answer, or an error.
func TestPingFails(t *testing.T) {
	s := startServe(t, "--memory", "/export")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // whose connections nobody takes
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, tt := range []struct {
		args        string
		code        int
		stdout, say string
	}{
		{"", cli.ExitUsage, "", "no server: write rdma://HOST, or tcp://"},
		{"a b", cli.ExitUsage, "", `unknown argument "b": one server at a time`},
		{"rdma://host/export", cli.ExitUsage, "", "ping takes a server, not a file: write rdma://host"},
		{"rdma://host?mountport=1", cli.ExitUsage, "", "mountport is only for commands on files"},
		{"smb://host", cli.ExitUsage, "", "unknown scheme smb"},
		{"--count 0 host", cli.ExitUsage, "", "write a number from 1"},
		{"--timeout 0 host", cli.ExitUsage, "", "write a number above 0 and its unit (ms, s, m or h)"},
		{"--timeout -1s host", cli.ExitUsage, "", "write a number above 0 and its unit (ms, s, m or h)"},
		{"--program x host", cli.ExitUsage, "", "write a number from 0 to 4294967295"},
		{"tcp://" + gone.Addr().String(), cli.ExitFailed, "", "nothing listens at port"},
		{"rdma://" + s.tcp, cli.ExitFailed, "", "does not speak NFS over RDMA (iWARP)"},
		{"--program 7 " + s.rdma, cli.ExitFailed, "connected in", "does not have program 7 version 3: PROG_UNAVAIL"},
		{"--version 4 " + s.rdma, cli.ExitFailed, "connected in", "does not have program 100003 version 4: PROG_MISMATCH"},
		{"--count 2 --interval 0 --timeout 20ms tcp://" + silent.Addr().String(), cli.ExitFailed,
			"seq=1 no answer: the server does not answer\nseq=2 no answer: the server does not answer\n\n2 calls, 0 answered, 100% lost", ""},
		{"--count 2 --interval 0 --timeout 20ms rdma://" + silent.Addr().String(), cli.ExitFailed,
			"seq=1 no answer: no connection to rdma://" + silent.Addr().String() + " within 20ms\nseq=2 no answer: no connection to ", ""},
		{"--count 1 --timeout 20ms rdma://" + silent.Addr().String(), cli.ExitFailed, "\n\n1 call, 0 answered, 100% lost", ""},
	} {
		code, stdout, stderr := execute(t, append([]string{"ping"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.say) || tt.stdout == "" && stdout != "" {
			t.Errorf("ping %s: exit %d: %s%swant %d, %q and %q", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.say)
		}
	}
}

// TestPingServerGone: calls fail while the server is gone. An interrupt ends ping with a summary.
func TestPingServerGone(t *testing.T) {
	s := startServe(t, "--memory", "/export")
	ctx, cancel := context.WithCancel(t.Context())
	out, errs, over := newTranscript(), newTranscript(), make(chan struct{})
	code := -1
	go func() {
		defer close(over)
		code = run(ctx, []string{"ping", "--interval", "1ms", s.rdma}, out, errs)
	}()
	out.await("seq=1 time=", over)
	s.stop()
	out.await("no answer: ", over)
	cancel()
	<-over
	if code != cli.ExitOK || errs.String() != "" || !strings.Contains(out.String(), " answered, ") {
		t.Errorf("exit %d: %v%v", code, out, errs)
	}
}

// TestPingInterrupted: an interrupt before the first answer, over each transport.
func TestPingInterrupted(t *testing.T) {
	for _, scheme := range schemes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		accepted := make(chan net.Conn, 1)
		go func() {
			c, _ := l.Accept()
			cancel()
			accepted <- c // keep it open, silent, until the end
		}()
		out, errs := newTranscript(), newTranscript()
		code := run(ctx, []string{"ping", "--timeout", "1m", scheme + "://" + l.Addr().String()}, out, errs)
		if c := <-accepted; c != nil {
			c.Close()
		}
		l.Close()
		if code != cli.ExitFailed || errs.String() != "" || !strings.Contains(out.String(), "\n0 calls, 0 answered, 0% lost, in ") {
			t.Errorf("%s: exit %d: %v%v", scheme, code, out, errs)
		}
	}
}

// TestPingSummary: the shortest and the longest time are exact, and no percentile is beyond them.
func TestPingSummary(t *testing.T) {
	for _, tt := range []struct {
		took []time.Duration
		want string
	}{
		{[]time.Duration{123_460 * time.Microsecond}, "min 123ms, p50 123ms, p99 123ms, max 123ms\n"},
		{[]time.Duration{3 * time.Hour, 4 * time.Microsecond}, "min 4µs, p50 4µs, p99 "},
		{[]time.Duration{3 * time.Hour, 4 * time.Microsecond}, ", max 3h0m0s\n"},
		{[]time.Duration{99_900, 99_900}, "min 99.9µs, p50 99.9µs, p99 99.9µs, max 99.9µs\n"},
	} {
		out := newTranscript()
		p := probe.NewPinger(&probe.PingFlags{}, reach.Target{}, out)
		for _, d := range tt.took {
			p.Record(d)
			p.Calls++
		}
		if err := p.Summary(); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v: got %v, error %v, want %q", tt.took, out, err, tt.want)
		}
	}
}
