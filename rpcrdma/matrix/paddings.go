package matrix

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Lengths in bytes like emptyCall and emptyReply, for RDMA_MSGP: the header also has alignment and
// threshold.
const (
	paddedCall  = emptyCall + 8
	paddedReply = emptyReply + 8
)

// paddings has messages whose data is aligned as the peer asked for (draft section 3.9). RFC 8166
// has no padding.
func paddings() (cells []*Cell) {
	pad := func(at, align int) int { return -at & (align - 1) }
	add := func(c *Cell, align int, call, reply string, draft Want) *Cell {
		c.Client, c.Server = small, small
		c.Client.PeerAlign, c.Server.PeerAlign = align, align
		c.RFC8166 = Want{Call: call, Reply: reply}
		c.Draft = draft
		cells = append(cells, c)
		return c
	}
	for n := range 10 {
		// The threshold is the length of the stream without bulk data. Nothing else in the stream
		// can be longer.
		r, s := roundUp(n), roundUp(200+n)
		at := emptyHeader + 8 + firstArg + r + itemEntry
		add(&Cell{Name: fmt.Sprintf("padded argument behind %d bytes", n), Args: []Item{bulk(n), bulk(200 + n)}}, 64,
			fmt.Sprintf("MSG %d", emptyCall+2*itemEntry+r+s), "MSG 60",
			Want{Call: fmt.Sprintf("MSGP %d align 64 thresh 64 pad %d",
				paddedCall+2*itemEntry+r+s+pad(at, 64), pad(at, 64)), Reply: "MSG 60"})
		at = emptyHeader + 8 + firstResult + r + itemEntry
		add(&Cell{Name: fmt.Sprintf("padded result behind %d bytes", n), Results: []Item{bulk(n), bulk(200 + n)}}, 64,
			"MSG 76", fmt.Sprintf("MSG %d", emptyReply+2*itemEntry+r+s),
			Want{Call: "MSG 76", Reply: fmt.Sprintf("MSGP %d align 64 thresh 48 pad %d",
				paddedReply+2*itemEntry+r+s+pad(at, 64), pad(at, 64))})
		first := emptyHeader + 8 + firstArg
		p := pad(first, 128)
		at = first + p + roundUp(200+n) + itemEntry + r + itemEntry
		q := pad(at, 128)
		add(&Cell{Name: fmt.Sprintf("two padded arguments, %d bytes between", n),
			Args: []Item{bulk(200 + n), text(n), bulk(301)}}, 128,
			fmt.Sprintf("MSG %d", emptyCall+3*itemEntry+r+s+304), "MSG 60",
			Want{Call: fmt.Sprintf("MSGP %d align 128 thresh %d pad %d", paddedCall+3*itemEntry+r+s+304+p+q,
				72+r, p+q), Reply: "MSG 60"})
	}
	for _, align := range []int{8, 16, 256, 512, 1024, 2048, 16384, 32768} {
		at := emptyHeader + 8 + firstArg
		p := pad(at, align)
		at = emptyHeader + 8 + firstResult
		q := pad(at, align)
		for _, scattered := range []bool{false, true} {
			c := add(&Cell{Name: fmt.Sprintf("aligned to %d, receives in two buffers: %v", align, scattered),
				Args: []Item{bulk(1001)}, Results: []Item{bulk(1003)}}, align,
				fmt.Sprintf("MSG %d", emptyCall+itemEntry+1004), fmt.Sprintf("MSG %d", emptyReply+itemEntry+1004),
				Want{Call: fmt.Sprintf("MSGP %d align %d thresh 56 pad %d", paddedCall+itemEntry+1004+p, align, p),
					Reply: fmt.Sprintf("MSGP %d align %d thresh 40 pad %d", paddedReply+itemEntry+1004+q, align, q)})
			for _, cfg := range []*rpcrdma.Config{&c.Client, &c.Server} {
				cfg.InlineSend, cfg.InlineRecv = 32768, 32768
				if align == 32768 {
					cfg.InlineSend, cfg.InlineRecv = 65536, 65536
				}
				if scattered {
					cfg.Align = max(align, 64) // the smallest possible
				}
			}
		}
	}
	hundred := func(c *Cell) { c.Client.MinChunk, c.Server.MinChunk = 100, 100 }
	for n := 99; n <= 101; n++ {
		w := fmt.Sprintf("MSG %d", emptyCall+itemEntry+roundUp(n))
		d := fmt.Sprintf("MSGP %d align 64 thresh %d pad 40", paddedCall+itemEntry+40+roundUp(n), min(100, n-1))
		if n < 100 {
			d = w
		}
		hundred(add(&Cell{Name: fmt.Sprintf("argument of %d bytes, padded from 100 on", n),
			Args: []Item{bulk(n)}}, 64, w, "MSG 60", Want{Call: d, Reply: "MSG 60"}))
	}
	// No item may be as long as the threshold.
	hundred(add(&Cell{Name: "items of all lengths around the least",
		Args: []Item{bulk(97), bulk(98), bulk(99), bulk(100), bulk(200)}}, 8,
		"MSG 716", "MSG 60", Want{Call: "MSGP 740 align 8 thresh 96 pad 16", Reply: "MSG 60"}))
	// Text could be mistaken for padded data, so the threshold is above its length.
	add(&Cell{Name: "text longer than the data", Args: []Item{text(250), bulk(300)}}, 64,
		"MSG 644", "MSG 60", Want{Call: "MSG 644", Reply: "MSG 60"})
	add(&Cell{Name: "text shorter than the data", Args: []Item{text(250), bulk(317)}}, 64,
		"MSG 664", "MSG 60", Want{Call: "MSGP 708 align 64 thresh 316 pad 36", Reply: "MSG 60"})

	for extra := -1; extra <= 1; extra++ {
		n := 1024 - paddedCall - itemEntry - 40 + extra
		w := fmt.Sprintf("MSG %d", emptyCall+itemEntry+roundUp(n))
		d := w
		if extra <= 0 {
			d = "MSGP 1024 align 64 thresh 56 pad 40"
		}
		add(&Cell{Name: fmt.Sprintf("padded call of %d bytes", 1024+extra), Args: []Item{bulk(n)}}, 64, w,
			"MSG 60", Want{Call: d, Reply: "MSG 60"})
		n = 1024 - paddedReply - itemEntry - 56 + extra
		w = fmt.Sprintf("MSG %d", emptyReply+itemEntry+roundUp(n))
		d = w
		if extra <= 0 {
			d = "MSGP 1024 align 64 thresh 40 pad 56"
		}
		add(&Cell{Name: fmt.Sprintf("padded reply of %d bytes", 1024+extra), Results: []Item{bulk(n)}}, 64,
			"MSG 76", w, Want{Call: "MSG 76", Reply: d})
	}

	// Padding together with chunks.
	add(&Cell{Name: "padded call with a write chunk", Args: []Item{bulk(301)}, Results: []Item{bulk(2002)}}, 64,
		"MSG 412 write 2002", "MSG 92 write 2002",
		Want{Call: "MSGP 436 align 64 thresh 56 pad 16 write 2002", Reply: "MSG 92 write 2004"})
	add(&Cell{Name: "padded call with a reply chunk", Args: []Item{bulk(301)}, Results: []Item{text(2000)}}, 64,
		"MSG 408 reply 2040", "NOMSG 48 reply 2040",
		Want{Call: "MSGP 436 align 64 thresh 56 pad 20 reply 2040", Reply: "NOMSG 48 reply 2040"})
	add(&Cell{Name: "padded reply with a write chunk", Results: []Item{bulk(2002), bulk(302)},
		Room: []int{2002}, MaxReply: 330}, 64,
		"MSG 100 write 2002", "MSG 404 write 2002",
		Want{Call: "MSG 100 write 2002", Reply: "MSGP 436 align 64 thresh 48 pad 24 write 2004"})
	add(&Cell{Name: "padded reply with a reply chunk that is not used", Results: []Item{bulk(302)},
		Room: []int{}, MaxReply: 3000}, 64,
		"MSG 96 reply 3024", "MSG 392 reply 0",
		Want{Call: "MSG 96 reply 3024", Reply: "MSGP 436 align 64 thresh 40 pad 36 reply 0"})
	add(&Cell{Name: "too long to be padded", Args: []Item{bulk(2001)}, Results: []Item{bulk(2001)}}, 64,
		"MSG 132 read 52:2001 write 2001", "MSG 92 write 2001",
		Want{Call: "MSG 132 read 52:2001 write 2001", Reply: "MSG 92 write 2004"})
	return cells
}
