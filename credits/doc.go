// Package credits is the flow control of RPC-over-RDMA (draft-ietf-nfsv4-rpcrdma-08 sections 3.3,
// 3.8 and 11; RFC 8166 section 3.3): the server grants, the client keeps within the grant.
//
// A [Window] is the client's side. It begins at one; afterwards the calls that may be under way are
// the most recent grant. Calls wait for a credit in the order of their arrival. A [Granter] is the
// server's side. It never grants what receives have not been posted for.
//
// # Why nothing comes to a deadlock
//
// A Send that finds no receive ends the connection, and a client that waits for a credit that
// nothing brings waits for ever. Neither happens, whatever is granted, if both ends do as follows.
//
// Replies find a receive: the client posts one before each call, which has exactly one reply.
//
// Calls find a receive. Let room be the receives posted for calls and DONEs, plus the calls
// received and not answered, minus the DONEs to come. The server posts receives before it sends a
// reply, so that room is at least the grant in it. A message that arrives does not change room, and
// a reply lowers it by one at most. A reply that the client has not seen answers a call that it
// still counts as under way. So the client never has more calls on their way than room allows, even
// by an older, larger grant.
//
// DONEs find a receive. A reply with a read list is sent only when one more receive has been
// posted: two with that for the next call. It stays set aside for the DONE, however late that
// comes, and also when the server has freed the memory meanwhile. A DONE can thus always be sent:
// its call's credit becomes its own.
//
// The client can always call again. Let all its calls have been answered. In RFC 8166 there are no
// DONEs, and no grant is zero (draft section 3.3 has that as a MUST, too): it has a credit. In the
// draft, DONEs use up credits, and nothing answers them. Only the reply to a later call shows that
// they have been taken, and it takes a credit to make one. So a client that has no call under way
// makes one, whatever it was granted last; room for it there is, since room is at least one. A
// client that does not dare to, because it takes each DONE for a request without an answer, gets
// one more credit from this server than it has such DONEs.
//
// A grant may be zero while another reply is withheld until DONEs come (draft section 11). The
// client has the call of that under way and will get its grant; the DONEs that it waits for need no
// credit. Where no memory is left to be read, because the server has taken it all back after a time
// limit, nothing is withheld but for what follows.
//
// Receives stay few: room is never above the largest grant, which is the server's maximum and 2
// more at the most, and no more DONEs than the maximum may be owed. A further reply with a read
// list is withheld until one of them comes, and if none does for as long as the server has
// patience, the connection ends (draft section 3.8 lets a server take that for a protocol
// violation). That makes 2 times the maximum and 2, and in RFC 8166 the maximum. A client counts no
// more DONEs than its own maximum.
//
// # What is assumed
//
// Of the connection: that it keeps messages in order. Of the server: that its replies leave in the
// order of their grants. Of the client: that it keeps within the grant, and sends one DONE for each
// reply with a read list, also for one that it gave up. Of the server again: that it answers every
// call. What comes of a peer that does not do so:
//
//   - A client that exceeds its grant uses up receives, those for its own DONEs included; then a
//     message of its finds none, and the connection ends. No other connection is affected.
//   - A client that never sends a DONE makes the [Granter] full. Its next reply with a read list is
//     withheld, and the server ends the connection when it has waited for long enough.
//   - A DONE that answers nothing uses up a receive, which is posted again.
//   - A server that has one receive for each credit, and takes the DONEs to come off its grants, as
//     section 11 has it, always has one for the call that is made when none is under way, as it
//     grants one at least.
//   - A server that grants as many as it has receives, whatever DONEs are to come, drives the
//     credits to zero, which section 3.8 warns of. The call made with none under way then may find
//     no receive. To wait instead would be the deadlock for certain.
//   - A server that grants zero and withholds nothing is treated as if it had granted one.
package credits
