package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Sattr is sattr3: the attributes to set (RFC 1813 section 2.6). The zero value sets none.
type Sattr struct {
	Mode  Set32
	UID   Set32
	GID   Set32
	Size  Set64
	Atime SetTime
	Mtime SetTime
}

// Set32 is set_mode3, set_uid3 or set_gid3.
type Set32 struct {
	Set bool
	To  uint32
}

// Set64 is set_size3.
type Set64 struct {
	Set bool
	To  uint64
}

// SetTime is set_atime or set_mtime. To is only used with ToClientTime.
type SetTime struct {
	How TimeHow
	To  Time
}

// MarshalXDR appends s.
func (s *Sattr) MarshalXDR(e *xdr.Encoder) {
	s.Mode.marshal(e)
	s.UID.marshal(e)
	s.GID.marshal(e)
	e.Bool(s.Size.Set)
	if s.Size.Set {
		e.Uint64(s.Size.To)
	}
	s.Atime.marshal(e)
	s.Mtime.marshal(e)
}

// UnmarshalXDR decodes s.
func (s *Sattr) UnmarshalXDR(d *xdr.Decoder) {
	s.Mode.unmarshal(d)
	s.UID.unmarshal(d)
	s.GID.unmarshal(d)
	s.Size = Set64{Set: d.Bool()}
	if s.Size.Set {
		s.Size.To = d.Uint64()
	}
	s.Atime.unmarshal(d)
	s.Mtime.unmarshal(d)
}

func (s *Set32) marshal(e *xdr.Encoder) {
	e.Bool(s.Set)
	if s.Set {
		e.Uint32(s.To)
	}
}

func (s *Set32) unmarshal(d *xdr.Decoder) {
	*s = Set32{Set: d.Bool()}
	if s.Set {
		s.To = d.Uint32()
	}
}

func (s *SetTime) marshal(e *xdr.Encoder) {
	e.Uint32(uint32(s.How))
	if s.How == ToClientTime {
		s.To.MarshalXDR(e)
	}
}

func (s *SetTime) unmarshal(d *xdr.Decoder) {
	*s = SetTime{How: TimeHow(d.Enum(uint32(ToClientTime)))}
	if s.How == ToClientTime {
		s.To.UnmarshalXDR(d)
	}
}
