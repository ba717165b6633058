package recordmark

// replyRoom bounds the memory of the replies of a connection that its peer does not take. How long
// a reply will be shows when it is there, so a call that is being executed counts as maxExpected
// bytes. A reply that is there counts as what it and its call take, and not at all if that is no
// more than uncounted.
//
// When there is no room for a further call, none is read. That ends: there is always room for one,
// so what is waited for is calls and replies of this connection, which handlers end, or the peer,
// or Config.WriteTimeout. Hence nobody has to wait in a queue of the budget. Conn.mu guards it.
type replyRoom struct {
	share  *share // nil: no bound
	making int    // calls that are being executed
	large  int    // bytes of replies that wait to be sent, and their calls
	has    int    // bytes of share, given back when nothing is under way
}

const (
	// maxExpected is what a call and its reply are expected to take at most, in bytes, beside what
	// the record of the call has reserved: the data of a READ.
	maxExpected = 1 << 20
	// uncounted is the length in bytes of replies and calls that are bounded by their number.
	uncounted = 4 << 10
)

// forAnother reports whether there is room for the reply of a further call.
func (r *replyRoom) forAnother() bool {
	taken := r.making*maxExpected + r.large
	if r.share == nil || taken == 0 {
		return true
	}
	missing := taken + maxExpected - r.has
	if missing > 0 {
		if !r.share.tryReserve(missing) {
			return false
		}
		r.has += missing
	}
	return true
}

// made notes that a call has been executed, and has the reply in.out, or none.
func (r *replyRoom) made(in *incoming) {
	r.making--
	n := in.out.len
	if in.rec.share == nil {
		n += cap(in.rec.data)
	}
	if n > uncounted {
		in.large = n
		r.large += n
	}
}

// left notes that a reply has left, or never will; idle that it was the last.
func (r *replyRoom) left(large int, idle bool) {
	r.large -= large
	if idle && r.has > 0 {
		r.share.release(r.has)
		r.has = 0
	}
}
