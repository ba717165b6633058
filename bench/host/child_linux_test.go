package host

import (
	"bufio"
	"context"
	"strings"
	"testing"
	"time"
)

// TestChild: a child knows its role and ends when its input ends. Its last output is reported.
func TestChild(t *testing.T) {
	for _, tt := range []struct {
		name     string
		then     string // what the child does after printing its role
		patience time.Duration
		want     string // of Stop
	}{
		{"ends well", "cat", time.Minute, ""},
		{"ends badly", "cat; echo last words >&2; exit 3", time.Minute, "exit status 3\nlast words"},
		{"does not end", "exec sleep 1000", 0, "signal: killed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Program{Path: "/bin/sh", Args: []string{"-c", "echo $" + roleVariable + ";" + tt.then}, Role: "echo"}
			c, err := p.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := bufio.NewReader(c.Out).ReadString('\n'); got != "echo\n" {
				t.Errorf("got role %q, error %v", got, err)
			}
			got := ""
			if err := c.Stop(tt.patience); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Stop: got %q, want %q", got, tt.want)
			}
			if err := c.Stop(0); err != nil {
				t.Errorf("Stop again: got %v", err)
			}
		})
	}
}

// TestChildOfContext: the input of a child ends with the context.
func TestChildOfContext(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Program{Path: "/bin/cat", CPUs: cpus[:1]}.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if got, err := bufio.NewReader(c.Out).ReadString('\n'); got != "" || err == nil {
		t.Errorf("got %q, error %v, want the end", got, err)
	}
	if err := c.Stop(time.Minute); err != nil && !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Error(err)
	}
}
