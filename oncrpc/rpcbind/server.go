package rpcbind

import (
	"context"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Programs returns versions 2, 3 and 4 of program 100000, which tell callers where a server serves
// its programs. The mappings are fixed: SET and UNSET return false.
//
//   - GETADDR and GETVERSADDR answer for the netid in the argument, so that callers can find RDMA
//     addresses over TCP and vice versa. If it is empty or unknown to this package, they answer for
//     that of the connection, as RFC 1833 section 2.2.1 requires for all netids.
//   - They replace an unspecified IP address by the one that the caller used to reach this server,
//     if both are of the same family.
//   - GETADDR and GETPORT return the address of another version if this one is missing, as other
//     servers do.
//   - DUMP lists the mappings unchanged.
//   - Version 2 has only the TCP and UDP mappings over IPv4.
//
// CALLIT, BCAST and INDIRECT, which make calls on behalf of the caller, are unavailable. So are
// UADDR2TADDR, TADDR2UADDR, GETADDRLIST and GETSTAT.
func Programs(mappings []Mapping) []oncrpc.Program {
	r := registry(slices.Clone(mappings))
	common := []oncrpc.Procedure{
		procSet:     procedure("SET", decline[Mapping]),
		procUnset:   procedure("UNSET", decline[Mapping]),
		procGetAddr: procedure("GETADDR", r.getAddr),
		procDump:    procedure("DUMP", r.dump),
		procGetTime: procedure("GETTIME", getTime),
	}
	more := make([]oncrpc.Procedure, procGetVersAddr+1)
	copy(more, common)
	more[procGetVersAddr] = procedure("GETVERSADDR", r.getVersAddr)
	p := r.ports()
	return []oncrpc.Program{
		{Name: "PORTMAP", Number: Program, Version: Version2, Procedures: []oncrpc.Procedure{
			procSet:     procedure("SET", decline[PortMapping]),
			procUnset:   procedure("UNSET", decline[PortMapping]),
			procGetAddr: procedure("GETPORT", p.getPort),
			procDump:    procedure("DUMP", p.dump),
		}},
		{Name: "RPCBIND", Number: Program, Version: Version3, Procedures: common},
		{Name: "RPCBIND", Number: Program, Version: Version4, Procedures: more},
	}
}

// procedure makes a procedure from a function of its arguments. The functions only read constant
// data, so they need no goroutine of their own.
func procedure[T any, P item[T]](name string, f func(c *oncrpc.Call, args T)) oncrpc.Procedure {
	return oncrpc.Procedure{Name: name, NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
		var args T
		P(&args).UnmarshalXDR(c.Args)
		if err := c.Args.Finish(); err != nil {
			return err
		}
		f(c, args)
		return nil
	}}
}

// decline implements SET and UNSET.
func decline[T any](c *oncrpc.Call, _ T) { c.Results.Bool(false) }

// getTime returns the seconds since 1970, UTC.
func getTime(c *oncrpc.Call, _ void) { c.Results.Uint32(uint32(time.Now().Unix())) }
