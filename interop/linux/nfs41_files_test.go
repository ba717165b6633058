//go:build interop

package linux

import (
	"encoding/binary"
	"math"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv4"
)

// The file handles of an nfs41.
const (
	rootFH = "root"
	fileFH = "file"
)

// nfs41Write is the largest WRITE in bytes, and the largest READ.
const nfs41Write = 64 << 10

// runFile executes an operation on files, and returns nil for any other.
func (c *compound) runFile(op nfsv4.NfsArgop4) nfsv4.NfsResop4 {
	s := c.s
	switch a := op.(type) {
	case *nfsv4.NfsArgop4_OP_PUTROOTFH:
		c.fh = rootFH
		return &nfsv4.NfsResop4_OP_PUTROOTFH{}
	case *nfsv4.NfsArgop4_OP_PUTFH:
		c.fh = string(a.Opputfh.Object)
		return &nfsv4.NfsResop4_OP_PUTFH{}
	case *nfsv4.NfsArgop4_OP_LOOKUP:
		c.fh = fileFH
		return &nfsv4.NfsResop4_OP_LOOKUP{}
	case *nfsv4.NfsArgop4_OP_GETFH:
		return &nfsv4.NfsResop4_OP_GETFH{Opgetfh: &nfsv4.Getfh4res_NFS4_OK{
			Resok4: nfsv4.Getfh4resok{Object: []byte(c.fh)}}}
	case *nfsv4.NfsArgop4_OP_GETATTR:
		return &nfsv4.NfsResop4_OP_GETATTR{Opgetattr: &nfsv4.Getattr4res_NFS4_OK{
			Resok4: nfsv4.Getattr4resok{ObjAttributes: c.attributes(a.Opgetattr.AttrRequest)}}}
	case *nfsv4.NfsArgop4_OP_ACCESS:
		return &nfsv4.NfsResop4_OP_ACCESS{Opaccess: &nfsv4.Access4res_NFS4_OK{
			Resok4: nfsv4.Access4resok{Supported: a.Opaccess.Access, Access: a.Opaccess.Access}}}
	case *nfsv4.NfsArgop4_OP_OPEN:
		c.fh = fileFH
		return &nfsv4.NfsResop4_OP_OPEN{Opopen: c.open(&a.Opopen)}
	case *nfsv4.NfsArgop4_OP_CLOSE:
		return &nfsv4.NfsResop4_OP_CLOSE{Opclose: &nfsv4.Close4res_NFS4_OK{OpenStateid: s.close(a.Opclose.OpenStateid)}}
	case *nfsv4.NfsArgop4_OP_DELEGRETURN:
		if s.delegation != nil && s.delegation.Other == a.Opdelegreturn.DelegStateid.Other {
			s.delegation = nil
			s.returns++
			s.changed()
		}
		return &nfsv4.NfsResop4_OP_DELEGRETURN{}
	case *nfsv4.NfsArgop4_OP_WRITE:
		data := a.Opwrite.Data
		if end := int(a.Opwrite.Offset) + len(data); end > len(s.file) {
			s.file = append(s.file, make([]byte, end-len(s.file))...)
		}
		copy(s.file[a.Opwrite.Offset:], data)
		s.changed()
		return &nfsv4.NfsResop4_OP_WRITE{Opwrite: &nfsv4.Write4res_NFS4_OK{
			Resok4: nfsv4.Write4resok{Count: uint32(len(data)), Committed: nfsv4.FILE_SYNC4}}}
	}
	return nil
}

// open opens the file, with a delegation if none is out. It is for writing or for reading, as the
// open is.
func (c *compound) open(a *nfsv4.Open4args) nfsv4.Open4res {
	s := c.s
	owner := string(a.Owner.Owner)
	open := s.opens[owner]
	if open == nil {
		open = s.newState()
		s.opens[owner] = open
	} else {
		open.Seqid++
	}
	ok := nfsv4.Open4resok{Stateid: *open, Cinfo: nfsv4.ChangeInfo4{Before: 1, After: 1}}
	_, byName := a.Claim.(*nfsv4.OpenClaim4_CLAIM_NULL)
	_, byHandle := a.Claim.(*nfsv4.OpenClaim4_CLAIM_FH)
	if s.delegation != nil || !byName && !byHandle { // the other claims are those of a delegation
		ok.Delegation = &nfsv4.OpenDelegation4_OPEN_DELEGATE_NONE{}
		return &nfsv4.Open4res_NFS4_OK{Resok4: ok}
	}
	s.delegation = s.newState()
	s.granted = []nfsv4.ReferringCallList4{{RclSessionid: s.session(), RclReferringCalls: []nfsv4.ReferringCall4{c.request}}}
	s.changed()
	nobody := nfsv4.Nfsace4{Who: "OWNER@"} // has no rights that Linux need not ask for
	if a.ShareAccess&nfsv4.OPEN4_SHARE_ACCESS_WRITE != 0 {
		ok.Delegation = &nfsv4.OpenDelegation4_OPEN_DELEGATE_WRITE{Write: nfsv4.OpenWriteDelegation4{
			Stateid: *s.delegation, SpaceLimit: &nfsv4.NfsSpaceLimit4_NFS_LIMIT_SIZE{Filesize: math.MaxInt64}, Permissions: nobody}}
	} else {
		ok.Delegation = &nfsv4.OpenDelegation4_OPEN_DELEGATE_READ{Read: nfsv4.OpenReadDelegation4{
			Stateid: *s.delegation, Permissions: nobody}}
	}
	return &nfsv4.Open4res_NFS4_OK{Resok4: ok}
}

// close forgets an open.
func (s *nfs41) close(id state) state {
	for owner, open := range s.opens {
		if open.Other == id.Other {
			delete(s.opens, owner)
		}
	}
	id.Seqid++
	return id
}

// newState makes a stateid.
func (s *nfs41) newState() *state {
	s.states++
	id := &state{Seqid: 1}
	binary.BigEndian.PutUint32(id.Other[:], s.states)
	return id
}

// attributes encodes those of the wanted attributes that there are.
func (c *compound) attributes(want []uint32) nfsv4.Fattr4 {
	s := c.s
	kind, id, size, mode := uint32(nfsv4.NF4DIR), uint32(1), uint64(4096), uint32(0o755)
	if c.fh == fileFH {
		kind, id, size, mode = uint32(nfsv4.NF4REG), 2, uint64(len(s.file)), 0o644
	}
	values := map[int][]uint32{
		nfsv4.FATTR4_TYPE:            {kind},
		nfsv4.FATTR4_FH_EXPIRE_TYPE:  {nfsv4.FH4_PERSISTENT},
		nfsv4.FATTR4_CHANGE:          {0, 1},
		nfsv4.FATTR4_SIZE:            {uint32(size >> 32), uint32(size)},
		nfsv4.FATTR4_FSID:            {0, 1, 0, 1},
		nfsv4.FATTR4_LEASE_TIME:      {s.lease},
		nfsv4.FATTR4_FILEID:          {0, id},
		nfsv4.FATTR4_MAXREAD:         {0, nfs41Write}, // without these, Linux moves 1 KiB at a time
		nfsv4.FATTR4_MAXWRITE:        {0, nfs41Write},
		nfsv4.FATTR4_MODE:            {mode},
		nfsv4.FATTR4_NUMLINKS:        {1},
		nfsv4.FATTR4_SUPPORTED_ATTRS: {2, 0, 0},
	}
	for bit := range values {
		values[nfsv4.FATTR4_SUPPORTED_ATTRS][1+bit/32] |= 1 << (bit % 32)
	}
	var res nfsv4.Fattr4
	for i, word := range want {
		res.Attrmask = append(res.Attrmask, 0)
		for bit := range 32 {
			v, ok := values[32*i+bit]
			if !ok || word>>bit&1 == 0 {
				continue
			}
			res.Attrmask[i] |= 1 << bit
			for _, w := range v {
				res.AttrVals = binary.BigEndian.AppendUint32(res.AttrVals, w)
			}
		}
	}
	return res
}
