package ddp

import "strings"

// Setup is what the two ends of a stream have agreed on, whatever the LLP. What an LLP has settled
// besides is its own affair.
type Setup struct {
	Initiator bool // this side has asked for the connection
	Version   int  // of DDP and RDMAP: VersionRDMAC or Version
	// of this side: RDMA Reads that the peer, and that this side, may have outstanding
	IRD, ORD int

	// RTR is the kind that an initiator sends now, before anything else, or the kinds of which one
	// comes first at a responder. It is zero in the client-server model, where a responder sends
	// nothing before it has received something. An RTR by Read is possible where the initiator's
	// ORD is zero, too.
	RTR RTR
	// AnySend: the responder has named no kind of RTR, so a Send of any length, the upper layer's,
	// may take the place of the RTR by Send (draft-ietf-storm-mpa-peer-connect-05 section 9). An
	// initiator of ours sends the RTR, which the upper layer of a responder may see as a message of
	// no bytes.
	AnySend bool

	// EitherFirst: the LLP lets a responder send before it has received something, as SCTP does
	// (RFC 6581 section 7).
	EitherFirst bool

	// Draft05: this side speaks the dialect of draft-ietf-storm-mpa-peer-connect-05, as its
	// configuration says, also in Terminate messages.
	Draft05 bool

	PrivateData []byte // the peer's upper layer's
}

// RTR is a set of the ready-to-receive indications by which an initiator ends the setup of a
// peer-to-peer connection (RFC 6581 section 9.2).
type RTR uint8

// The kinds, each a message of length zero.
const (
	RTRSend RTR = 1 << iota
	RTRWrite
	RTRRead
)

// String names the kinds in the set, as in "send|read".
func (r RTR) String() string {
	var names []string
	for _, k := range []struct {
		kind RTR
		name string
	}{
		{RTRSend, "send"}, {RTRWrite, "write"}, {RTRRead, "read"},
		{^(RTRSend | RTRWrite | RTRRead), "unknown"},
	} {
		if r&k.kind != 0 {
			names = append(names, k.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "|")
}
