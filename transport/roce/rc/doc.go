// Package rc implements the two halves of a reliable connection of InfiniBand (IBTA volume 1
// chapter 9). A [Requester] sends what an end has posted until it is acknowledged. A [Responder]
// carries out the peer's requests.
//
// Neither has goroutines, locks, timers or sockets. The owner calls them with incoming packets and
// the time, and lets Fill put outgoing packets into an [Outbox]:
//
//	req := rc.NewRequester(rc.RequesterConfig{...})
//	req.Post(wr)
//	req.Fill(out, time.Now())          // sends
//	err := req.Take(&h, time.Now())    // acknowledgements and responses
//	err = req.Expire(time.Now())       // at req.Deadline()
//	c, ok := req.PopDone()
//
//	resp := rc.NewResponder(rc.ResponderConfig{...})
//	resp.PostRecv(receive)
//	resp.Connect(rc.Peer{...})
//	err = resp.Take(&h, nil, time.Now()) // requests
//	messages := resp.Arrived()
//
// An error of these methods ends the connection. It wraps [ErrTimeout], [ErrProtocol] or an error
// of package transport.
//
// Here packets are numbered from 0, in 64 bits. On the wire, a packet sequence number (PSN) has 24
// bits and begins where the two ends have agreed.
//
// # Loss
//
// After a loss, the Requester sends again from the lost packet on (go-back-N): when a NAK asks for
// it, when the response to an RDMA Read has a gap, or after a timeout. The timeout follows the
// round-trip time as in TCP (RFC 6298), with a minimum of 25 ms, and doubles up to 2 s.
//
// # Congestion
//
// A window bounds the packets in flight: those of requests and those of responses to RDMA Reads. It
// grows by one packet for each one acknowledged; after the first loss, by one packet for each
// window. A loss or a congestion notification (CNP) halves it, once in a round trip. A timeout sets
// it to four packets. So senders that share a path, or the buffer of a socket, share it like those
// of TCP.
package rc
