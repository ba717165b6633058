package rpcbind_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// portMapper is a server of version 2 with one mapping.
func portMapper(list *[]rpcbind.PortMapping) oncrpc.Program {
	handle := func(h func(m rpcbind.PortMapping, c *oncrpc.Call)) oncrpc.Procedure {
		return oncrpc.Procedure{NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			var m rpcbind.PortMapping
			if c.Procedure != 4 {
				m.UnmarshalXDR(c.Args)
			}
			if err := c.Args.Finish(); err != nil {
				return err
			}
			h(m, c)
			return nil
		}}
	}
	same := func(m rpcbind.PortMapping) func(rpcbind.PortMapping) bool {
		return func(x rpcbind.PortMapping) bool { return x.Program == m.Program && x.Version == m.Version }
	}
	return oncrpc.Program{Number: rpcbind.Program, Version: 2, Procedures: []oncrpc.Procedure{
		1: handle(func(m rpcbind.PortMapping, c *oncrpc.Call) {
			free := !slices.ContainsFunc(*list, same(m))
			if free {
				*list = append(*list, m)
			}
			c.Results.Bool(free)
		}),
		2: handle(func(m rpcbind.PortMapping, c *oncrpc.Call) {
			n := len(*list)
			*list = slices.DeleteFunc(*list, same(m))
			c.Results.Bool(len(*list) < n)
		}),
		3: handle(func(m rpcbind.PortMapping, c *oncrpc.Call) {
			if m.Program == 666 {
				c.Results.Uint32(65536)
				return
			}
			port := uint16(0)
			for _, x := range *list {
				if same(m)(x) && x.Protocol == m.Protocol {
					port = x.Port
				}
			}
			c.Results.Uint32(uint32(port))
		}),
		4: handle(func(_ rpcbind.PortMapping, c *oncrpc.Call) {
			for _, m := range *list {
				c.Results.Bool(true)
				m.MarshalXDR(c.Results)
			}
			c.Results.Bool(false)
		}),
	}}
}

func TestPortMapper(t *testing.T) {
	var list []rpcbind.PortMapping
	f := (&fakeRpcbind{}).start(t, "tcp")
	f.server.Handle(portMapper(&list))
	c := f.dial(t)
	ctx := t.Context()
	m := rpcbind.PortMapping{Program: 100003, Version: 3, Protocol: rpcbind.ProtoTCP, Port: 2049}
	if err := c.SetPort(ctx, m); err != nil {
		t.Fatal(err)
	}
	if err := c.SetPort(ctx, m); !errors.Is(err, rpcbind.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	ask := m
	ask.Port = 0
	if got, err := c.GetPort(ctx, ask); err != nil || got != 2049 {
		t.Errorf("got %d, %v, want 2049", got, err)
	}
	ask.Protocol = rpcbind.ProtoUDP
	if got, err := c.GetPort(ctx, ask); !errors.Is(err, rpcbind.ErrNotRegistered) || got != 0 {
		t.Errorf("got %d, %v, want ErrNotRegistered", got, err)
	}
	if got, err := c.GetPort(ctx, rpcbind.PortMapping{Program: 666}); err == nil || errors.Is(err, rpcbind.ErrNotRegistered) {
		t.Errorf("port 65536: got %d, %v", got, err)
	}
	if got, err := c.DumpPorts(ctx); err != nil || !slices.Equal(got, []rpcbind.PortMapping{m}) {
		t.Errorf("got %v, %v, want %v", got, err, m)
	}
	if err := c.UnsetPort(ctx, m); err != nil {
		t.Error(err)
	}
	if err := c.UnsetPort(ctx, m); !errors.Is(err, rpcbind.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	// It lacks versions 3 and 4.
	var accept *oncrpc.AcceptError
	if err := c.Set(ctx, nfsTCP); !errors.As(err, &accept) || accept.Stat != oncrpc.ProgMismatch || accept.High != 2 {
		t.Errorf("got %v, want PROG_MISMATCH", err)
	}
}
