package main

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/demo"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
)

// columns returns the numbers of a row of the demo's table by the names of their columns.
func columns(t *testing.T, out, row string) map[string]int {
	t.Helper()
	var head []string
	for line := range strings.Lines(out) {
		f := regexp.MustCompile(`\s{2,}`).Split(strings.TrimSpace(line), -1)
		switch {
		case f[0] == "procedure":
			head = f
		case f[0] == row && len(f) == len(head):
			got := map[string]int{}
			for i, name := range head[1:] {
				n, err := strconv.Atoi(f[i+1])
				if err != nil {
					t.Fatalf("column %s: %v", name, err)
				}
				got[name] = n
			}
			return got
		}
	}
	t.Fatalf("no row %q:\n%s", row, out)
	return nil
}

// demonstrable are the providers that work on this system.
func demonstrable() []string {
	names := slices.Sorted(maps.Keys(reach.Providers))
	if runtime.GOOS != "linux" {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "roce" })
	}
	return names
}

// The draft's demo uses each mechanism, whatever it copies, and its table shows that.
func TestDemoDraft(t *testing.T) {
	path, sum := input(t, "file", 100_000) // no round-up, no padding by itself
	for _, name := range demonstrable() {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := execute(t, "demo", "--dialect", "draft", "--provider", name, path)
			if code != cli.ExitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			wants := []string{
				"CONF_RDMA: inline calls of 1024 bytes become 32768, replies of 1024 become 2048; data aligned to 4096; ",
				sum + "  " + path + ": the same",
				"16 files of 8191 bytes, up inline, down as read chunks, and one by a write chunk, too: the same",
			}
			if name != "loopback" {
				wants = append(wants, "program 100003 version 3 is at rdma 127.")
				if got := columns(t, stdout, "GETADDR")["calls"]; got != 1 {
					t.Errorf("%d calls of GETADDR, want 1", got)
				}
			}
			for _, want := range wants {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in:\n%s", want, stdout)
				}
			}
			if got := columns(t, stdout, "CONF_RDMA")["calls"]; got != 1 {
				t.Errorf("%d calls of CONF_RDMA, want 1", got)
			}
			// 8 KiB of data each, at the next multiple of 4096 behind a header.
			if got := columns(t, stdout, "WRITE"); got["padding"] < demo.Parts*1024 || got["padding"] >= demo.Parts*4096 || got["read chunk"] != 100_000+demo.ShareSize {
				t.Errorf("WRITE: %v", got)
			}
			const asked = demo.Share/demo.ShareSize + 1
			if got := columns(t, stdout, "READ"); got["reply read"] != demo.Parts*demo.PartSize+asked*demo.ShareSize || got["DONE"] != demo.Parts+asked ||
				got["write chunk"] != 100_000+demo.PartSize+1 {
				t.Errorf("READ: %v", got)
			}
			if got := columns(t, stdout, "READDIRPLUS"); got["reply chunk"] < 2048 || got["reply read"] < 1024 || got["DONE"] != 1 {
				t.Errorf("READDIRPLUS: %v", got)
			}
			_, second, _ := strings.Cut(stdout, "\nmechanism ")
			second, _, _ = strings.Cut(second, "\n\n")
			want := [][]string{
				{"client", "server"},
				{"RDMA_MSGP", "16 sent", "16 received"},
				{"replies with a read list", "34 read", "1 withheld for a while"},
				{"of these long, RDMA_NOMSG", "1 read", "-"},
				{"RDMA_DONE", "34 sent", "34 received"},
				{"round-up in write chunks", "1 bytes counted, not sent", "-"},
			}
			var got [][]string
			for line := range strings.Lines(second) {
				got = append(got, regexp.MustCompile(`\s{2,}`).Split(strings.TrimSpace(line), -1))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, stdout, _ := execute(t, "demo", "--provider", "loopback", path)
	if strings.Contains(stdout, "DONE") || strings.Contains(stdout, "CONF_RDMA") {
		t.Errorf("of the draft, without --dialect:\n%s", stdout)
	}
}
