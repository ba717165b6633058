package nfs3

import "github.com/rpcrdma/go-rpcrdma/xdr"

// ReadDirPlusArgs are the arguments of READDIRPLUS (RFC 1813 section 3.3.17).
type ReadDirPlusArgs struct {
	Dir      FH
	Cookie   uint64   // the entry after which to begin; 0: at the start
	Verf     Verifier // from the results that have Cookie
	DirCount uint32   // largest size of the names, cookies and file IDs
	MaxCount uint32   // largest size of the results after the status
}

// MarshalXDR appends a.
func (a *ReadDirPlusArgs) MarshalXDR(e *xdr.Encoder) {
	a.Dir.MarshalXDR(e)
	e.Uint64(a.Cookie)
	e.Fixed(a.Verf[:])
	e.Uint32(a.DirCount)
	e.Uint32(a.MaxCount)
}

// UnmarshalXDR decodes a.
func (a *ReadDirPlusArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.Dir.UnmarshalXDR(d)
	a.Cookie = d.Uint64()
	copy(a.Verf[:], d.Fixed(VerifierSize))
	a.DirCount = d.Uint32()
	a.MaxCount = d.Uint32()
}

// Entry is entryplus3: a name in a directory, with the file's attributes and handle.
type Entry struct {
	FileID uint64
	Name   string
	Cookie uint64 // for READDIR of the entries after this one
	Attr   PostOpAttr
	File   PostOpFH
}

// DirLen returns the bytes of ent that DirCount counts.
func (ent *Entry) DirLen() int { return 8 + 4 + xdr.RoundUp(len(ent.Name)) + 8 }

// Len returns the bytes of ent in the results of READDIRPLUS, including the flag before it.
func (ent *Entry) Len() int {
	n := 4 + ent.DirLen() + 4 + 4
	if ent.Attr.Present {
		n += fattrLen
	}
	if ent.File.Present {
		n += 4 + xdr.RoundUp(ent.File.FH.Len())
	}
	return n
}

// NameLen returns the bytes of ent in the results of READDIR, including the flag before it.
func (ent *Entry) NameLen() int { return 4 + ent.DirLen() }

// MarshalXDR appends ent.
func (ent *Entry) MarshalXDR(e *xdr.Encoder) {
	ent.encodeName(e)
	ent.Attr.MarshalXDR(e)
	ent.File.MarshalXDR(e)
}

// UnmarshalXDR decodes ent.
func (ent *Entry) UnmarshalXDR(d *xdr.Decoder) {
	ent.decodeName(d)
	ent.Attr.UnmarshalXDR(d)
	ent.File.UnmarshalXDR(d)
}

// encodeName and decodeName encode and decode an entry3, as in READDIR.
func (ent *Entry) encodeName(e *xdr.Encoder) {
	e.Uint64(ent.FileID)
	e.String(ent.Name, maxName)
	e.Uint64(ent.Cookie)
}

func (ent *Entry) decodeName(d *xdr.Decoder) {
	ent.FileID = d.Uint64()
	ent.Name = d.String(maxName)
	ent.Cookie = d.Uint64()
}

// ReadDirPlusRes are the results of READDIRPLUS.
type ReadDirPlusRes struct {
	Result
	Dir     PostOpAttr
	Verf    Verifier // with OK
	Entries []Entry  // with OK
	EOF     bool     // with OK: no entries follow
}

// ReadDirPlusResMin is the length in bytes of results of READDIRPLUS or READDIR without entries, as
// MaxCount and Count count it.
const ReadDirPlusResMin = postOpAttrLen + VerifierSize + 4 + 4

// ReadDirPlusResMax returns the longest encoding in bytes of results of READDIRPLUS or READDIR for
// a MaxCount or Count. Linux's server counts only the list of entries, without the attributes and
// the verifier before it.
func ReadDirPlusResMax(maxCount int) int { return statusLen + postOpAttrLen + VerifierSize + maxCount }

// MarshalXDR appends r.
func (r *ReadDirPlusRes) MarshalXDR(e *xdr.Encoder) { r.encode(e, (*Entry).MarshalXDR) }

// UnmarshalXDR decodes r. It reuses the memory of r.Entries.
func (r *ReadDirPlusRes) UnmarshalXDR(d *xdr.Decoder) { r.decode(d, (*Entry).UnmarshalXDR) }

func (r *ReadDirPlusRes) encode(e *xdr.Encoder, entry func(*Entry, *xdr.Encoder)) {
	r.marshal(e)
	r.Dir.MarshalXDR(e)
	if r.Status != OK {
		return
	}
	e.Fixed(r.Verf[:])
	for i := range r.Entries {
		e.Optional(true)
		entry(&r.Entries[i], e)
	}
	e.Optional(false)
	e.Bool(r.EOF)
}

func (r *ReadDirPlusRes) decode(d *xdr.Decoder, entry func(*Entry, *xdr.Decoder)) {
	*r = ReadDirPlusRes{Entries: r.Entries[:0]}
	r.unmarshal(d)
	r.Dir.UnmarshalXDR(d)
	if r.Status != OK {
		return
	}
	copy(r.Verf[:], d.Fixed(VerifierSize))
	for d.Optional() {
		var ent Entry
		entry(&ent, d)
		if d.Err() != nil {
			return
		}
		r.Entries = append(r.Entries, ent)
	}
	r.EOF = d.Bool()
}
