package rpcrdma

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// layPlan plans the call for the settings in force.
func (k *call) layPlan(s *Settings) (err error) {
	x, most := k.x, k.l.cfg.MaxMessage
	k.settings, k.planned = s, x.Call.Len()
	if k.planned > most {
		return &oncrpc.CallTooLongError{Len: k.planned, Max: most}
	}
	if x.MaxReply > most {
		return &oncrpc.ReplyTooLongError{Len: x.MaxReply, Max: most, NotSent: true}
	}
	if len(x.Results)+len(x.Call.Bulk) == 0 && k.planned <= s.MaxSend-wire.BareLen &&
		x.MaxReply <= s.MaxRecv-wire.BareLen {
		// It is inline both ways, whatever the other limits are.
		k.plan = chunks.CallPlan{ReadChunkFrom: chunks.NoReadChunks}
		return nil
	}
	k.plan, err = chunks.PlanCall(&k.x.Call, k.x.Results, k.x.MaxReply, k.l.limits(s, s.MaxSend))
	return err
}

// layout exposes the memory of the call, and encodes its Send.
func (k *call) layout() error {
	x, h := k.x, &k.header
	h.XID, h.Version, h.Type = k.xid, wire.ProtocolVersion, wire.TypeMsg
	h.Credits = uint32(k.l.cfg.Credits)
	h.Lists.Reset()
	k.without = k.without[:0]
	for i := range x.Call.Bulk {
		k.without = append(k.without, x.Call.Bulk[i].Len >= k.plan.ReadChunkFrom)
	}
	k.pieces = x.Call.AppendPieces(k.pieces[:0], k.without)
	rest := 0
	for _, p := range k.pieces {
		rest += len(p)
	}
	if err := k.addChunks(rest); err != nil {
		return err
	}
	return k.encode(rest)
}

// addChunks exposes what goes in chunks, in the order of the lists. rest is the length of the
// message without its read chunks.
func (k *call) addChunks(rest int) error {
	x, h := k.x, &k.header
	if k.plan.Long { // the first entry, at position zero (draft section 5.1)
		h.Type = wire.TypeNoMsg
		if err := k.addRead(0, k.pieces, rest); err != nil {
			return err
		}
	}
	for i, moved := range k.without {
		if it := &x.Call.Bulk[i]; moved {
			if err := k.addRead(it.Position, it.Data, it.Len); err != nil {
				return err
			}
		}
	}
	if k.plan.WriteResults {
		// Empty buffers at the end need no chunk.
		n := len(x.Results)
		for len(x.Results[n-1]) == 0 {
			n--
		}
		for i := range n {
			if err := k.addWrite(x.Results[i : i+1]); err != nil {
				return err
			}
		}
	}
	if k.plan.ReplyChunk {
		segs, err := k.windows.exposeOwn(x.MaxReply, transport.RemoteWrite)
		if err != nil {
			return err
		}
		k.reply = k.windows.last()
		h.SetReply(segs)
	}
	return nil
}

// addRead offers a read chunk of n bytes in data.
func (k *call) addRead(position int, data [][]byte, n int) error {
	segs, err := k.windows.expose(data, n, transport.RemoteRead, k.copies)
	if err != nil {
		return err
	}
	for _, s := range segs {
		k.header.Reads = append(k.header.Reads,
			chunks.ReadSegment{Position: uint32(position), Segment: s})
	}
	k.info.ReadChunk += n
	return nil
}

// addWrite offers a write chunk for one result. An empty result needs one, too, to keep its place.
// It has a segment of no bytes, because svcrdma refuses a chunk without segments.
func (k *call) addWrite(result [][]byte) error {
	n := len(result[0])
	if n == 0 {
		k.results = append(k.results, noWindow)
		k.header.AddWrite([]chunks.Segment{{}})
		return nil
	}
	segs, err := k.windows.expose(result, n, transport.RemoteWrite, k.copies)
	if err != nil {
		return err
	}
	k.results = append(k.results, k.windows.last())
	k.header.AddWrite(segs)
	return nil
}

// encode writes the header, and the message unless that is a chunk, to buf. rest is the length of
// the inline part of the message.
func (k *call) encode(rest int) (err error) {
	l, x, h := k.l, k.x, &k.header
	n := 0
	if !k.plan.Long {
		n, k.info.InlineSent = rest, rest
		align := k.settings.PeerAlign
		if align > 0 && k.plan.ReadChunkFrom == chunks.NoReadChunks {
			k.info.Padding = wire.Pad(h, &x.Call, nil, align, k.settings.MaxSend, l.cfg.MinChunk)
		}
	}
	n += h.Len() + k.info.Padding
	if k.buf, err = l.shared.Get(n, 0); err != nil {
		return err
	}
	b := h.Append(k.buf.Bytes[:0])
	switch {
	case h.Type == wire.TypeMsgP:
		b = wire.AppendPadded(b, h, &x.Call, nil)
	case !k.plan.Long:
		for _, p := range k.pieces {
			b = append(b, p...)
		}
	}
	// The plan assumed contiguous memory. Scattered memory may need more segments.
	if len(b) > k.settings.MaxSend || h.Segments() > chunks.MaxSegments {
		return fmt.Errorf("%w: %d bytes", chunks.ErrHeader, len(b))
	}
	k.sendList[0] = k.buf.Sub(0, len(b))
	return nil
}
