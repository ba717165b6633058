package rpcbind

import (
	"context"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Programs returns versions 2, 3 and 4 of the program, for a server to tell its callers where it
// serves what: mappings, which nobody can change by a call. SET and UNSET return false.
//
// GETADDR and GETVERSADDR answer for the netid of the argument. If it is empty, or none of those
// this package has names for, they answer for that of the connection, as RFC 1833 section 2.2.1 has
// it for all; so either kind of address can be had over either transport. An unspecified IP address
// is answered as the one by which the caller has reached this server, if that is of the same
// family. DUMP lists the mappings as they are. Of a program that has other versions only, GETADDR
// and GETPORT return the address of one of these, as other servers do.
//
// Version 2 has what it has words for: those mappings of TCP and UDP that are of IPv4.
//
// Procedures that make calls on behalf of the caller (CALLIT, BCAST, INDIRECT) are unavailable, and
// so are UADDR2TADDR, TADDR2UADDR, GETADDRLIST and GETSTAT.
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

// procedure makes a procedure of a function from arguments to results. The functions only read what
// does not change, and so need not run on a goroutine of their own.
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

// decline is SET and UNSET.
func decline[T any](c *oncrpc.Call, _ T) { c.Results.Bool(false) }

// getTime returns the seconds since 1970, UTC.
func getTime(c *oncrpc.Call, _ void) { c.Results.Uint32(uint32(time.Now().Unix())) }
