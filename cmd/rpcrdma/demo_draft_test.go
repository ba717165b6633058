package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
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

// The demo of the draft uses each of its mechanisms, whatever is copied, and its table shows that.
func TestDemoDraft(t *testing.T) {
	path, sum := input(t, "file", 100_000) // no round-up, no padding by itself
	for name := range providers {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := execute(t, "demo", "--dialect", "draft", "--provider", name, path)
			if code != exitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			for _, want := range []string{
				"CONF_RDMA: from 1024 bytes inline to 32768 each way, data aligned to 4096",
				sum + "  " + path + ": the same",
				"16 files of 8191 bytes, up in RDMA_MSGP, down by read lists, and one by a write chunk, too: the same",
				"\nbytes of round-up in the write chunks, which are counted and never sent: 1\n",
			} {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in:\n%s", want, stdout)
				}
			}
			if got := columns(t, stdout, "CONF_RDMA")["calls"]; got != 1 {
				t.Errorf("%d calls of CONF_RDMA, want 1", got)
			}
			// 8 KiB of data each, at the next multiple of 4096 behind a header.
			if got := columns(t, stdout, "WRITE"); got["padding"] < parts*1024 || got["padding"] >= parts*4096 || got["read chunk"] != 100_000 {
				t.Errorf("WRITE: %v", got)
			}
			if got := columns(t, stdout, "READ"); got["reply read"] != parts*partSize || got["DONE"] != parts || got["write chunk"] != 100_000+partSize+1 {
				t.Errorf("READ: %v", got)
			}
			if got := columns(t, stdout, "READDIRPLUS"); got["reply read"] < 1024 || got["DONE"] != 1 {
				t.Errorf("READDIRPLUS: %v", got)
			}
		})
	}
	_, stdout, _ := execute(t, "demo", "--provider", "loopback", path)
	if strings.Contains(stdout, "DONE") || strings.Contains(stdout, "CONF_RDMA") {
		t.Errorf("of the draft, without --dialect:\n%s", stdout)
	}
}
