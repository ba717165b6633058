package ddp

import "strings"

// Setup is what the two ends of a stream agreed on, whatever the LLP. It leaves out what concerns
// the LLP alone, such as markers.
type Setup struct {
	Initiator bool // this side asked for the connection
	Version   int  // of DDP and RDMAP: VersionRDMAC or Version
	// IRD is how many RDMA Reads the peer may have outstanding here. ORD is how many this side may
	// have outstanding at the peer.
	IRD, ORD int

	// RTR is, for an initiator, the one kind that it sends now, before anything else; for a
	// responder, the kinds of which one must come first. Zero means the client-server model: the
	// responder sends nothing before it has received something. The RTR may be a Read even if the
	// initiator's ORD is zero.
	RTR RTR
	// AnySend: the responder has named no kind of RTR, so a Send of the upper layer, of any length,
	// may replace the RTR by Send (draft-ietf-storm-mpa-peer-connect-05 section 9). Our initiator
	// always sends the RTR. The upper layer of such a responder may see it as an empty message.
	AnySend bool

	// EitherFirst: the responder may send before it has received something, as over SCTP (RFC 6581
	// section 7).
	EitherFirst bool

	// Draft05: this side speaks the dialect of draft-ietf-storm-mpa-peer-connect-05, also in
	// Terminate messages.
	Draft05 bool

	PrivateData []byte // sent by the peer's upper layer
}

// RTR is a set of kinds of ready-to-receive indications. An initiator sends one to end the setup of
// a peer-to-peer connection (RFC 6581 section 9.2).
type RTR uint8

// The kinds of RTR. Each is a message of length zero.
const (
	RTRSend RTR = 1 << iota
	RTRWrite
	RTRRead
)

// String names the kinds in the set, for example "send|read".
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
