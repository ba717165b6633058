package transport

// CheckPost checks requests against the limits of a connection, for the Post of a provider. It
// returns ErrWorkRequest, ErrNoReads or nil; the provider wraps that in an *OpError. It does not
// check whether the queue has room.
func (i *Info) CheckPost(wrs []*WorkRequest) error {
	for _, wr := range wrs {
		if wr == nil || wr.Done == nil {
			return ErrWorkRequest
		}
		elements := i.MaxSendSGE
		switch wr.Op {
		case OpSend, OpSendInvalidate, OpWrite:
		case OpRead:
			if i.ORD == 0 {
				return ErrNoReads
			}
			elements = i.MaxReadSGE
		case OpInvalidate: // whatever its Local is
			continue
		default:
			return ErrWorkRequest
		}
		if elements > 0 && len(wr.Local) > elements ||
			i.MaxMessage > 0 && TotalLen(wr.Local) > i.MaxMessage {
			return ErrWorkRequest
		}
	}
	return nil
}

// CheckPostRecv is CheckPost for PostRecv. It returns ErrWorkRequest or nil.
func (i *Info) CheckPostRecv(rs []*RecvRequest) error {
	for _, r := range rs {
		if r == nil || i.MaxRecvSGE > 0 && len(r.Local) > i.MaxRecvSGE {
			return ErrWorkRequest
		}
	}
	return nil
}
