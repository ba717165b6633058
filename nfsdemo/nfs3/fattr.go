package nfs3

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Fattr is fattr3: the attributes of a file (RFC 1813 section 2.6).
type Fattr struct {
	Type   FileType
	Mode   uint32 // the bits of ModeMask
	Nlink  uint32
	UID    uint32
	GID    uint32
	Size   uint64
	Used   uint64 // bytes of storage
	Rdev   Specdata
	FSID   uint64
	FileID uint64
	Atime  Time
	Mtime  Time
	Ctime  Time
}

// Specdata is specdata3: the numbers of a device.
type Specdata struct{ Major, Minor uint32 }

const fattrLen = 5*4 + 2*8 + 8 + 2*8 + 3*timeLen

// MarshalXDR appends a. It builds the encoding in one piece, because nearly every reply has
// attributes.
func (a *Fattr) MarshalXDR(e *xdr.Encoder) {
	var p [fattrLen]byte
	be := binary.BigEndian
	be.PutUint32(p[:], uint32(a.Type))
	be.PutUint32(p[4:], a.Mode)
	be.PutUint32(p[8:], a.Nlink)
	be.PutUint32(p[12:], a.UID)
	be.PutUint32(p[16:], a.GID)
	be.PutUint64(p[20:], a.Size)
	be.PutUint64(p[28:], a.Used)
	be.PutUint32(p[36:], a.Rdev.Major)
	be.PutUint32(p[40:], a.Rdev.Minor)
	be.PutUint64(p[44:], a.FSID)
	be.PutUint64(p[52:], a.FileID)
	for i, t := range [...]Time{a.Atime, a.Mtime, a.Ctime} {
		be.PutUint32(p[60+timeLen*i:], t.Sec)
		be.PutUint32(p[64+timeLen*i:], t.Nsec)
	}
	e.Raw(p[:])
}

// UnmarshalXDR decodes a.
func (a *Fattr) UnmarshalXDR(d *xdr.Decoder) {
	p := d.Raw(fattrLen)
	if p == nil {
		*a = Fattr{}
		return
	}
	be := binary.BigEndian
	a.Type = FileType(be.Uint32(p))
	a.Mode, a.Nlink = be.Uint32(p[4:]), be.Uint32(p[8:])
	a.UID, a.GID = be.Uint32(p[12:]), be.Uint32(p[16:])
	a.Size, a.Used = be.Uint64(p[20:]), be.Uint64(p[28:])
	a.Rdev = Specdata{be.Uint32(p[36:]), be.Uint32(p[40:])}
	a.FSID, a.FileID = be.Uint64(p[44:]), be.Uint64(p[52:])
	a.Atime = Time{be.Uint32(p[60:]), be.Uint32(p[64:])}
	a.Mtime = Time{be.Uint32(p[68:]), be.Uint32(p[72:])}
	a.Ctime = Time{be.Uint32(p[76:]), be.Uint32(p[80:])}
	if a.Type > TypeFIFO {
		a.Type = 0
		d.Fail(xdr.ErrValue)
	}
}

// PostOpAttr is post_op_attr: attributes after an operation, which may be missing
// (RFC 1813 section 2.6).
type PostOpAttr struct {
	Present bool
	Attr    Fattr
}

// PostOpAttrOf returns attributes that are present.
func PostOpAttrOf(a Fattr) PostOpAttr { return PostOpAttr{true, a} }

const postOpAttrLen = 4 + fattrLen

// MarshalXDR appends p.
func (p *PostOpAttr) MarshalXDR(e *xdr.Encoder) {
	e.Bool(p.Present)
	if p.Present {
		p.Attr.MarshalXDR(e)
	}
}

// UnmarshalXDR decodes p.
func (p *PostOpAttr) UnmarshalXDR(d *xdr.Decoder) {
	if p.Present = d.Bool(); p.Present {
		p.Attr.UnmarshalXDR(d)
	} else {
		p.Attr = Fattr{}
	}
}
