package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// MknodArgs are the arguments of MKNOD (RFC 1813 section 3.3.11). The results are CreateRes.
type MknodArgs struct {
	Where DirOp
	Type  FileType
	Set   Sattr    // with TypeChr, TypeBlk, TypeSock and TypeFIFO
	Rdev  Specdata // with TypeChr and TypeBlk
}

// MarshalXDR appends a.
func (a *MknodArgs) MarshalXDR(e *xdr.Encoder) {
	a.Where.MarshalXDR(e)
	e.Uint32(uint32(a.Type))
	switch a.Type {
	case TypeChr, TypeBlk:
		a.Set.MarshalXDR(e)
		e.Uint32(a.Rdev.Major)
		e.Uint32(a.Rdev.Minor)
	case TypeSock, TypeFIFO:
		a.Set.MarshalXDR(e)
	}
}

// UnmarshalXDR decodes a.
func (a *MknodArgs) UnmarshalXDR(d *xdr.Decoder) {
	*a = MknodArgs{}
	a.Where.UnmarshalXDR(d)
	a.Type = FileType(d.Enum(uint32(TypeFIFO)))
	switch a.Type {
	case TypeChr, TypeBlk:
		a.Set.UnmarshalXDR(d)
		a.Rdev.Major = d.Uint32()
		a.Rdev.Minor = d.Uint32()
	case TypeSock, TypeFIFO:
		a.Set.UnmarshalXDR(d)
	}
}
