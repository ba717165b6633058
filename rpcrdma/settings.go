package rpcrdma

// Settings are the values of a connection that its ends may change while it is up, with the Connection Configuration
// Protocol (draft section 6.2; package confproto). Sizes are in bytes.
type Settings struct {
	MaxSend   int // the largest Send to the peer, header included
	MaxRecv   int // the largest Send that the peer is expected to make
	Reads     int // RDMA Reads that this side may have under way at the peer; 0: none are possible
	PeerReads int // RDMA Reads that the peer may have under way here
	Align     int // alignment of this side's receives; 0: none
	PeerAlign int // alignment that opaque data is padded to for the peer; 0: it is not padded
}

// Settings returns what is in force.
func (c *Conn) Settings() Settings { panic("not yet") }

// Expect asks for receives of n bytes, up to MaxInline, and returns the largest Send that the peer may make from now on: n, or less
// if receives are posted already that are shorter, as receives cannot be recalled, or more if they are longer. A caller who is about to
// call may pass over the one receive that his reply is going to use up.
func (c *Conn) Expect(n int) int { panic("not yet") }

// Agree puts values into force that the peer has named: MaxSend, MaxRecv, Reads and PeerAlign of s; the others are this side's own. Each is
// brought into the range that is possible. It affects calls and replies that are laid out from now on.
func (c *Conn) Agree(s Settings) { panic("not yet") }
