package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
)

// traceOfFile returns a trace, after checking it to the last packet.
func traceOfFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 24 || binary.BigEndian.Uint32(b) != 0xa1b23c4d {
		t.Fatalf("%s begins with % x", path, b[:min(24, len(b))])
	}
	for rest := b[24:]; len(rest) > 0; {
		if len(rest) < 16 || len(rest)-16 < int(binary.BigEndian.Uint32(rest[8:])) {
			t.Fatalf("%s ends in a packet, in the last %d bytes", path, len(rest))
		}
		rest = rest[16+binary.BigEndian.Uint32(rest[8:]):]
	}
	return b
}

const (
	mpaRequest = "MPA ID Req Frame"
	mpaReply   = "MPA ID Rep Frame"
)

// Chunks that begin and end an association of SCTP (RFC 9260 sections 3.3.9, 3.3.12 and 3.3.13).
const (
	cookieAck        = "\x0b\x00\x00\x04"
	shutdownAck      = "\x08\x00\x00\x04"
	shutdownComplete = "\x0e\x00\x00\x04"
)

// has fails the test unless a trace has some bytes.
func has(t *testing.T, what string, b []byte, want ...string) {
	t.Helper()
	for _, w := range want {
		if !bytes.Contains(b, []byte(w)) {
			t.Errorf("%s: there is no %q in %d bytes", what, w, len(b))
		}
	}
}

// TestTrace: the traces of client and server have what both have sent and received.
func TestTrace(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			dir := t.TempDir()
			served := filepath.Join(dir, "served")
			r := startRig(t, "--trace", served)
			up := rig.Write(t, filepath.Join(dir, "up"), []byte("the data of the file"))
			for i, args := range [][]string{
				{"put", up, "@/memory/a-name"},
				{"get", "@/memory/a-name", filepath.Join(dir, "down")},
				{"ls", "@/memory/a-name"},
				{"ping", "--count", "1", "@/"},
				{"probe", "@/memory/a-name"},
			} {
				file := filepath.Join(dir, "trace"+args[0])
				args = append([]string{args[0], "--trace", file}, args[1:]...)
				if got := r.exec(t, scheme, args...); got.code != cli.ExitOK || got.stderr != "" {
					t.Errorf("%q: exit %d: %s", args, got.code, got.stderr)
				}
				b := traceOfFile(t, file)
				if i < 2 {
					has(t, args[0], b, "the data of the file")
				}
				if i < 3 {
					has(t, args[0], b, "a-name")
				}
				if scheme == "rdma" {
					has(t, args[0], b, mpaRequest, mpaReply)
				}
			}
			if code := r.stop(); code != cli.ExitOK {
				t.Errorf("exit %d: %v", code, r.stderr)
			}
			b := traceOfFile(t, served)
			has(t, "serve", b, "the data of the file", "a-name")
			if scheme == "rdma" {
				has(t, "serve", b, mpaRequest, mpaReply)
			}
			if i, err := os.Stat(served); err != nil || runtime.GOOS != "windows" && i.Mode() != 0o600 {
				t.Errorf("mode %v, %v", i.Mode(), err)
			}
		})
	}
}

// TestTraceSCTP: at both ends, and at the client to the end of the association.
func TestTraceSCTP(t *testing.T) {
	dir := t.TempDir()
	files := [2]string{filepath.Join(dir, "client"), filepath.Join(dir, "server")}
	s := startServe(t, "--provider", "iwarp,sctp", "--sctp-udp", "0", "--memory", "/export",
		"--trace", files[1])
	base, options := s.sctpURL(t)
	if code, _, errs := execute(t, "ls", "--trace", files[0], base+"/export"+options); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	s.stop()
	for _, file := range files {
		b := traceOfFile(t, file)
		has(t, file, b, cookieAck, "/export")
	}
	has(t, "client", traceOfFile(t, files[0]), shutdownAck, shutdownComplete)
}

// TestTraceTLS: both traces have the bytes on the wire, which are encrypted.
func TestTraceTLS(t *testing.T) {
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := certs.Files(dir); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	s := startServe(t, "--tls-cert", file("server.pem"), "--tls-key", file("server.key"),
		"--memory", "/export", "--trace", file("served"))
	code, _, errs := execute(t, "df", "--tls-ca", file("ca.pem"), "--trace", file("trace"),
		"tcp://"+s.tcp+"/export?tls")
	if code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	s.stop()
	const clientHello = "\x16\x03\x01" // a record of the handshake (RFC 8446 section 5.1)
	for _, name := range []string{"trace", "served"} {
		b := traceOfFile(t, file(name))
		has(t, name, b, "STARTTLS", clientHello)
		if bytes.Contains(b, []byte("/export")) {
			t.Errorf("%s: the name of the export is legible", name)
		}
	}
}

// TestTraceDemo: over each provider but RoCE.
func TestTraceDemo(t *testing.T) {
	const data = "what the demo copies"
	for name := range reach.Providers {
		if name == "roce" {
			continue // as with TestTraceRoCE
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "trace")
			in := rig.Write(t, filepath.Join(dir, "a-name"), []byte(data))
			if code, _, errs := execute(t, "demo", "--provider", name, "--trace", file, in); code != cli.ExitOK {
				t.Fatalf("exit %d: %s", code, errs)
			}
			b := traceOfFile(t, file)
			has(t, name, b, "a-name", data)
			if name == "iwarp" || name == "loopback" {
				has(t, name, b, mpaRequest, mpaReply)
			}
		})
	}
}

// TestTraceGateway: the connection of the client, and that to the server.
func TestTraceGateway(t *testing.T) {
	server := startServe(t, "--memory", "/export", "--squash", "none")
	file := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithCancel(t.Context())
	out, errs, over := newTranscript(), newTranscript(), make(chan struct{})
	go func() {
		defer close(over)
		args := []string{"gateway", "--listen", "127.0.0.1:0", "--to", "rdma://" + server.rdma}
		run(ctx, append(args, "--trace", file), out, errs)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	m := gatewayLine.FindStringSubmatch(out.await("/mnt\n", over))
	if m == nil {
		t.Fatalf("no address in %v; on standard error: %v", out, errs)
	}
	if code, _, errs := execute(t, "ls", "tcp://"+m[2]+"/export"); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	cancel()
	<-over
	b := traceOfFile(t, file)
	has(t, "gateway", b, mpaRequest, mpaReply)
	if n := bytes.Count(b, []byte("/export")); n < 2 {
		t.Errorf("the name is there %d times", n)
	}
}

// TestTraceEnvironment: RPCRDMA_TRACE works like the flag.
func TestTraceEnvironment(t *testing.T) {
	r := startRig(t)
	dir := t.TempDir()
	env, flag := filepath.Join(dir, "env"), filepath.Join(dir, "flag")
	t.Setenv(reach.TraceEnv, env)
	there := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	for _, tt := range []struct {
		name      string
		args      []string
		env, flag bool
	}{
		{"a flag", []string{"ls", "--trace", flag, "@/memory"}, false, true},
		{"a flag that says no", []string{"ls", "--trace=", "@/memory"}, false, true},
		{"nothing that connects", []string{"version"}, false, true},
		{"help", []string{"ls", "--help"}, false, true},
		{"completion", []string{"__complete", "ls", "@/mem"}, false, true},
		{"no flag", []string{"ls", "@/memory"}, true, true},
	} {
		if got := r.exec(t, "rdma", tt.args...); got.code != cli.ExitOK {
			t.Errorf("%s: exit %d: %s", tt.name, got.code, got.stderr)
		}
		if there(env) != tt.env || there(flag) != tt.flag {
			t.Errorf("%s: the file of the environment is there: %t; that of the flag: %t", tt.name,
				there(env), there(flag))
		}
	}
	has(t, "environment", traceOfFile(t, env), mpaRequest)
}

// TestTraceNotThere: if the file cannot be made, the command does nothing. An invalid command line
// leaves the file alone.
func TestTraceNotThere(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "no", "trace")
	for _, args := range [][]string{
		{"ls", "--trace", nowhere, "rdma://127.0.0.1:1/"},
		{"serve", "--trace", nowhere, "--listen", "127.0.0.1:0", "--memory", "/export"},
	} {
		code, out, errs := execute(t, args...)
		if code != cli.ExitFailed || out != "" || !strings.HasPrefix(errs, "rpcrdma: --trace: ") ||
			!strings.Contains(errs, nowhere) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
	old := rig.Write(t, filepath.Join(dir, "trace"), []byte("old"))
	if code, _, _ := execute(t, "ls", "--trace", old); code != cli.ExitUsage {
		t.Errorf("exit %d", code)
	}
	rig.Holds(t, old, []byte("old"))
	if _, err := os.Stat(nowhere); !os.IsNotExist(err) && !os.IsPermission(err) {
		t.Errorf("%v", err)
	}
}

// TestTraceBound: a trace ends at its limit, with one message, and the command goes on. The old
// contents of the file are gone.
func TestTraceBound(t *testing.T) {
	const most = 200_000
	reach.TraceMost = most
	t.Cleanup(func() { reach.TraceMost = 256 << 20 })
	dir := t.TempDir()
	file := rig.Write(t, filepath.Join(dir, "trace"), make([]byte, 2*most))
	data := rig.Pattern(1 << 20)
	up := rig.Write(t, filepath.Join(dir, "up"), data)
	for _, scheme := range schemes {
		r := startRig(t)
		got := r.exec(t, scheme, "put", "-q", "--trace", file, up, "@/memory/file")
		want := "rpcrdma: --trace " + file + " ends here: trace: the trace is full: "
		told := strings.HasPrefix(got.stderr, want) && strings.Count(got.stderr, "\n") == 1
		if got.code != cli.ExitOK || !told {
			t.Errorf("%s: exit %d: %s", scheme, got.code, got.stderr)
		}
		if n := len(traceOfFile(t, file)); n > most || n < most-1<<16 {
			t.Errorf("%s: %d bytes", scheme, n)
		}
		down := filepath.Join(dir, "down"+scheme)
		if got := r.exec(t, scheme, "get", "-q", "@/memory/file", down); got.code != cli.ExitOK {
			t.Errorf("%s: exit %d: %s", scheme, got.code, got.stderr)
		}
		rig.Holds(t, down, data)
	}
	if i, err := os.Stat(file); err != nil || i.Mode()&fs.ModeType != 0 {
		t.Errorf("%v, %v", i, err)
	}
}

// TestTraceBench: bench traces what it measures. The server that it starts does not write to the
// same file.
func TestTraceBench(t *testing.T) {
	const most = 256 << 10 // which even a slow machine fills in the time
	reach.TraceMost = most
	t.Cleanup(func() { reach.TraceMost = 256 << 20 })
	t.Setenv(asCommand, "1s") // in the server's process
	for _, path := range []string{"iwarp", "loopback", "tcp"} {
		file := filepath.Join(t.TempDir(), "trace")
		t.Setenv(reach.TraceEnv, file)
		code, _, errs := benched(t, time.Second, "--paths", path, "--ways", "inline-call", "--sizes", "4KiB",
			"--cpus", "none")
		if code != cli.ExitOK || strings.Count(errs, " ends here: ") != 1 {
			t.Fatalf("%s: exit %d: %s", path, code, errs)
		}
		b := traceOfFile(t, file)
		if path != "tcp" {
			has(t, path, b, mpaRequest, mpaReply)
		}
		if len(b) > most || len(b) < most-1<<16 {
			t.Errorf("%s: %d bytes", path, len(b))
		}
	}
}
