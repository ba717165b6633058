// Package rc has the two halves of a reliable connection of InfiniBand (IBTA volume 1 chapter 9): a
// [Requester] sends what an end has posted until it is acknowledged, and a [Responder] carries out
// what the peer requests.
//
// Neither has goroutines, locks, timers or sockets. Whoever owns them calls them with the packets
// that come and the time, and has Fill put the packets that are to be sent into an [Outbox]:
//
//   - A Requester is given requests (Post), acknowledgements and responses (Take), and the time
//     when its Deadline has come (Expire).
//   - A Responder is given receives (PostRecv, Promise) and requests of the peer's (Take).
//
// Packets are numbered from 0 here, in 64 bits. On the wire a packet sequence number (PSN) has 24,
// and begins where the two ends have agreed.
//
// # Loss
//
// What is lost is sent again from there on (go-back-N): when a NAK says so, when the response to an
// RDMA Read has a gap, or when nothing comes for a while. That while follows the round-trip time as
// in TCP (RFC 6298), with a minimum of 25 ms, and doubles up to 2 s.
//
// # Congestion
//
// What may be in flight, packets of requests and of responses to RDMA Reads alike, is bounded by a
// window. It grows by a packet for each one acknowledged, and once something was lost by a packet a
// window. It is halved for a loss or a congestion notification (CNP), once in a round trip, and is
// four packets after a time-out. So senders that share a path, or the buffer of a socket, share it
// as those of TCP do.
package rc
