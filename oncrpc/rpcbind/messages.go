package rpcbind

import "github.com/rpcrdma/go-rpcrdma/xdr"

// item is an element of a list.
type item[T any] interface {
	*T
	UnmarshalXDR(d *xdr.Decoder)
}

// decodeList decodes a linked list, rpcblist or pmaplist of RFC 1833. A boolean before each item
// says whether there is one.
func decodeList[T any, P item[T]](d *xdr.Decoder) []T {
	var list []T
	for d.Optional() {
		if len(list) == maxEntries {
			d.Fail(xdr.ErrLimit)
		}
		var v T
		P(&v).UnmarshalXDR(d)
		if d.Err() != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

// void is the type of no arguments.
type void struct{}

func (*void) UnmarshalXDR(*xdr.Decoder) {}

// mappings are the results of DUMP.
type mappings []Mapping

func (l *mappings) UnmarshalXDR(d *xdr.Decoder) { *l = decodeList[Mapping](d) }

// ports are the results of the port mapper's DUMP.
type ports []PortMapping

func (l *ports) UnmarshalXDR(d *xdr.Decoder) { *l = decodeList[PortMapping](d) }

// done is the result of SET and UNSET.
type done bool

func (b *done) UnmarshalXDR(d *xdr.Decoder) { *b = done(d.Bool()) }

// address is the result of GETADDR and GETVERSADDR: "" for none.
type address string

func (a *address) UnmarshalXDR(d *xdr.Decoder) { *a = address(d.String(maxString)) }

// port is the result of GETPORT: 0 for none.
type port uint32

func (p *port) UnmarshalXDR(d *xdr.Decoder) { *p = port(d.Uint32()) }
