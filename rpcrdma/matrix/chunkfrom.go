package matrix

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// chunkFroms has calls that would fit inline, but whose data goes by chunk because of
// rpcrdma.Config.ChunkFrom.
func chunkFroms() (cells []*Cell) {
	from := func(n int) rpcrdma.Config {
		return config(small, func(c *rpcrdma.Config) { c.ChunkFrom, c.MinChunk = n, 2*n })
	}
	add := func(c *Cell, cfg rpcrdma.Config, call, reply string) *Cell {
		cells = append(cells, both(c, cfg, call, reply))
		return c
	}
	sum := fmt.Sprintf
	for n := range 10 { // all data by chunk, except empty data
		r := roundUp(n)
		one := min(n, 1)
		add(&Cell{Name: sum("short arguments by read chunk, %d", n), Args: []Item{bulk(n), bulk(7)}}, from(1),
			sum("MSG %d%s read %d:7", emptyCall+2*itemEntry+(1+one)*readEntry, readPart(firstArg, n),
				firstArg+r+itemEntry), "MSG 60")
		if n == 0 {
			add(&Cell{Name: "short result by write chunk, 0", Results: []Item{bulk(n)}}, from(1), "MSG 76", "MSG 68")
			continue
		}
		c := add(&Cell{Name: sum("short result by write chunk, %d", n), Results: []Item{bulk(n)}}, from(1),
			sum("MSG 100 write %d", n), sum("MSG 92 write %d", n))
		c.Draft.Reply = sum("MSG 92 write %d", r)
	}
	for n := 99; n <= 101; n++ {
		r := roundUp(n)
		call := sum("MSG 108 read 52:%d", n)
		if n < 100 {
			call = sum("MSG %d", emptyCall+itemEntry+r)
		}
		add(&Cell{Name: sum("argument of %d bytes, by chunk from 100 on", n), Args: []Item{bulk(n)}},
			from(100), call, "MSG 60")
		call = sum("MSG 1016 read 52:%d", n)
		if n < 100 {
			call = "NOMSG 52 read 0:1064"
		}
		add(&Cell{Name: sum("argument of %d bytes that does not fit, by chunk from 100 on", n),
			Args: []Item{bulk(n), text(900)}}, from(100), call, "MSG 60")
		c := add(&Cell{Name: sum("result of %d bytes, by chunk from 100 on", n), Results: []Item{bulk(n)}},
			from(100), "MSG 76", sum("MSG %d", emptyReply+itemEntry+r))
		if n >= 100 {
			c.RFC8166 = Want{Call: sum("MSG 100 write %d", n), Reply: sum("MSG 92 write %d", n)}
			c.Draft = Want{Call: c.RFC8166.Call, Reply: sum("MSG 92 write %d", r)}
		}
	}
	add(&Cell{Name: "an argument that is long enough, and one that is not",
		Args: []Item{bulk(99), bulk(100)}}, from(100), "MSG 216 read 160:100", "MSG 60")
	add(&Cell{Name: "a result that is long enough takes the others along",
		Results: []Item{bulk(4), bulk(100)}}, from(100),
		"MSG 124 write 4 write 100", "MSG 124 write 4 write 100")
	c := add(&Cell{Name: "a result that is long enough, and others behind it",
		Results: []Item{bulk(100), bulk(4), bulk(5)}}, from(100),
		"MSG 148 write 100 write 4 write 5", "MSG 156 write 100 write 4 write 5")
	c.Draft.Reply = "MSG 156 write 100 write 4 write 8"
	add(&Cell{Name: "by chunk both ways", Args: []Item{bulk(501)}, Results: []Item{bulk(500)}}, from(100),
		"MSG 132 read 52:501 write 500", "MSG 92 write 500")
	add(&Cell{Name: "text is never moved on its own", Args: []Item{text(500)}, Results: []Item{text(500)}},
		from(100), "MSG 584", "MSG 568")

	// The server's ChunkFrom applies only to its own calls.
	c = add(&Cell{Name: "by chunk if the server had its way", Args: []Item{bulk(500)},
		Results: []Item{bulk(500)}}, small, "MSG 584", "MSG 568")
	c.Server = from(100)
	c = add(&Cell{Name: "by chunk, and nothing offered to write to", Args: []Item{bulk(500)},
		Results: []Item{bulk(500)}}, from(100),
		"MSG 132 read 52:500 write 500", "MSG 92 write 500")
	c.Client.NoReplyChunks = true
	c.Draft = Want{Call: "MSG 108 read 52:500", Reply: "MSG 568"}
	c = add(&Cell{Name: "by chunk in place of padding", Args: []Item{bulk(500)}, Results: []Item{bulk(500)}}, from(100),
		"MSG 132 read 52:500 write 500", "MSG 92 write 500")
	c.Client.PeerAlign = 64
	c = add(&Cell{Name: "padded below the length for a chunk", Args: []Item{bulk(299)}}, from(300), "MSG 384", "MSG 60")
	c.Client.PeerAlign, c.Client.MinChunk = 64, 200
	c.Draft.Call = "MSGP 432 align 64 thresh 200 pad 40"

	// Chunks may take more room in the header than their data takes inline. Either they just fit,
	// or everything stays inline. If the chunks of the results leave no room for the call, the call
	// itself becomes a chunk.
	add(&Cell{Name: "argument by chunk, the call just fits", Args: []Item{bulk(4), text(908)}}, from(1),
		"MSG 1024 read 52:4", "MSG 60")
	add(&Cell{Name: "argument by chunk, the call would not fit", Args: []Item{bulk(4), text(912)}}, from(1),
		"MSG 1008", "MSG 60")
	add(&Cell{Name: "result by chunk, the reply just fits", Results: []Item{bulk(4), text(924)}}, from(1),
		"MSG 100 write 4", "MSG 1024 write 4")
	add(&Cell{Name: "result by chunk, the reply would not fit", Results: []Item{bulk(4), text(928)}}, from(1),
		"MSG 76", "MSG 1008")
	add(&Cell{Name: "result by chunk, the call just fits", Args: []Item{text(916)}, Results: []Item{bulk(4)}},
		from(1), "MSG 1024 write 4", "MSG 92 write 4")
	add(&Cell{Name: "result by chunk, the call does not fit", Args: []Item{text(920)},
		Results: []Item{bulk(4)}}, from(1),
		"NOMSG 76 read 0:976 write 4", "MSG 92 write 4")
	return cells
}
