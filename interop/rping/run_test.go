package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ping runs a server and a client with additional arguments and returns their output.
func ping(t *testing.T, serverArgs, clientArgs []string) (server, client string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		var stderr strings.Builder
		c := run(ctx, append([]string{"-s", "-a", "127.0.0.1:0"}, serverArgs...), w, &stderr)
		w.Close()
		t.Log(stderr.String())
		code <- c
	}()
	lines := bufio.NewReader(r)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on ")
	if !ok {
		t.Fatalf("the server printed %q first", first)
	}
	rest := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(lines)
		rest <- string(b)
	}()
	var stdout, stderr strings.Builder
	if code := run(ctx, append([]string{"-c", "-a", addr}, clientArgs...), &stdout, &stderr); code != 0 {
		t.Errorf("the client returned %d: %s", code, stderr.String())
	}
	if code := <-code; code != 0 {
		t.Errorf("the server returned %d", code)
	}
	return <-rest, stdout.String()
}

const firstPings = "ping data: rdma-ping-0: ABCDEFGHIJ\n" + "ping data: rdma-ping-1: BCDEFGHIJK\n"

func TestPing(t *testing.T) {
	tests := []struct {
		name           string
		server, client []string
		wantServer     string // what was agreed on
		wantClient     string
	}{
		{"defaults", nil, nil,
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16)",
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16)"},
		{"CRC of the client", nil, []string{"-crc", "on"},
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16), CRC",
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16), CRC"},
		{"CRC of the server", []string{"-crc", "on"}, []string{"-crc", "off"},
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16), CRC",
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16), CRC"},
		{"peer-to-peer", nil, []string{"-peer-to-peer", "-rtr", "read"},
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16), peer-to-peer by read",
			"MPA revision 2, enhanced, IRD 16, ORD 16 (peer: 16, 16), peer-to-peer by read"},
		{"IRD and ORD", nil, []string{"-ird", "3", "-ord", "2", "-segment", "128"},
			"MPA revision 2, enhanced, IRD 16, ORD 3 (peer: 3, 2)",
			"MPA revision 2, enhanced, IRD 3, ORD 2 (peer: 16, 3)"},
		{"revision 1", nil, []string{"-enhanced", "never"}, "MPA revision 1", "MPA revision 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, client := ping(t, append(tt.server, "-V", "-v"), append(tt.client, "-V", "-v", "-C", "2", "-S", "24"))
			if want := tt.wantServer + "\n" + strings.ReplaceAll(firstPings, "ping data", "server ping data") + "2 pings\n"; server != want {
				t.Errorf("the server printed\n%swant\n%s", server, want)
			}
			if want := tt.wantClient + "\n" + firstPings + "2 pings\n"; client != want {
				t.Errorf("the client printed\n%swant\n%s", client, want)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want string // on standard error
	}{
		{"help", []string{"-h"}, 0, "Usage:"},
		{"no role", nil, 2, "one of -s and -c"},
		{"both roles", []string{"-s", "-c"}, 2, "one of -s and -c"},
		{"argument", []string{"-c", "host"}, 2, `unexpected argument "host"`},
		{"unknown choice", []string{"-c", "-crc", "maybe"}, 2, "want one of auto, off, on"},
		{"no address", []string{"-s", "-a", "nowhere"}, 1, "nowhere"},
		{"nobody there", []string{"-c", "-a", "127.0.0.1:1", "-timeout", "10s"}, 1, "after 0 pings"},
		{"timeout", []string{"-s", "-a", "127.0.0.1:0", "-timeout", "1ms"}, 1, "deadline exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("code %d, want %d; standard error %q, want %q in it", code, tt.code, stderr.String(), tt.want)
			}
		})
	}
}
