package rpcbind

import "fmt"

// The RPC program and its versions (RFC 1833 sections 2.1 and 3.1).
const (
	Program  = 100000
	Version2 = 2 // the port mapper
	Version3 = 3
	Version4 = 4
)

// Port is the TCP and UDP port of rpcbind (RFC 1833 section 2).
const Port = 111

// Limits on what a peer sends; the protocol has none.
const (
	maxString  = 1024 // bytes of a netid, an address or an owner
	maxEntries = 4096 // of a list
)

// proc is a procedure number (RFC 1833 sections 2.1 and 3.1). Numbers up to procDump mean the same
// in all versions.
type proc uint32

const (
	procSet     proc = 1
	procUnset   proc = 2
	procGetAddr proc = 3 // GETPORT in version 2
	procDump    proc = 4

	procGetTime proc = 6 // not in version 2

	procGetVersAddr proc = 9 // version 4 only
)

var procNames = map[proc]string{
	procSet: "set", procUnset: "unset", procGetAddr: "getaddr", procDump: "dump",
	procGetTime: "gettime", procGetVersAddr: "getversaddr",
}

func (p proc) String() string {
	if s, ok := procNames[p]; ok {
		return s
	}
	return fmt.Sprintf("procedure %d", uint32(p))
}
