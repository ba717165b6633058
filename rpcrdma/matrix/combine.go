package matrix

import "github.com/rpcrdma/go-rpcrdma/rpcrdma"

// combinations has messages with several kinds of chunks, with unused chunks, and with chunks that
// are too small or too few.
func combinations() []*Cell {
	// These have messages of at most 1024 bytes.
	cfg := config(small, func(c *rpcrdma.Config) { c.MinChunk = 100 })
	quiet := config(cfg, func(c *rpcrdma.Config) { c.NoReplyChunks = true })
	cells := []*Cell{
		{Name: "read chunk in the call, write chunk in the reply",
			Args: []Item{bulk(3001)}, Results: []Item{bulk(3002)},
			RFC8166: Want{Call: "MSG 132 read 52:3001 write 3002", Reply: "MSG 92 write 3002"},
			Draft:   Want{Call: "MSG 132 read 52:3001 write 3002", Reply: "MSG 92 write 3004"}},
		{Name: "read chunk in the call, reply chunk",
			Args: []Item{bulk(3001)}, Results: []Item{text(3002)},
			RFC8166: Want{Call: "MSG 128 read 52:3001 reply 3044", Reply: "NOMSG 48 reply 3044"}},
		{Name: "long call, write chunk",
			Args: []Item{text(3001)}, Results: []Item{bulk(3000)},
			RFC8166: Want{Call: "NOMSG 76 read 0:3060 write 3000", Reply: "MSG 92 write 3000"}},
		{Name: "long call, reply chunk",
			Args: []Item{text(3001)}, Results: []Item{text(3000)},
			RFC8166: Want{Call: "NOMSG 72 read 0:3060 reply 3040", Reply: "NOMSG 48 reply 3040"}},
		{Name: "everything",
			Args:    []Item{bulk(101), text(2001), bulk(99), bulk(1002), text(3)},
			Results: []Item{text(1501), bulk(33), bulk(2003), text(0), bulk(102)},
			// Positions: 52, 52+104+8+2004+8+100+8 = 2284. The rest is 40 bytes of call, 8 of count
			// and tail, and the items.
			RFC8166: Want{Call: "NOMSG 192 read 0:2196 read 52:101 read 2284:1002 " +
				"write 33 write 2003 write 102 reply 1576",
				Reply: "NOMSG 120 write 33 write 2003 write 102 reply 1576"},
			Draft: Want{Call: "NOMSG 192 read 0:2196 read 52:101 read 2284:1002 " +
				"write 33 write 2003 write 102 reply 1576",
				Reply: "NOMSG 120 write 36 write 2004 write 104 reply 1576"}},
		{Name: "every chunk there is",
			Args:    []Item{bulk(101), text(2001)},
			Results: []Item{text(1993), bulk(33), bulk(3001)}, Room: []int{33}, MaxReply: 2076,
			RFC8166: Want{Call: "NOMSG 120 read 0:2068 read 52:101 write 33 reply 2100", Reply: "ERROR 20 ERR_CHUNK"},
			Draft: Want{Call: "NOMSG 120 read 0:2068 read 52:101 write 33 reply 2100",
				Reply: "NOMSG 96 read 2084:3001 write 36 reply 2052"}},
		{Name: "several read chunks, with inline data between them",
			Args:    []Item{bulk(101), text(5), bulk(202), bulk(99), bulk(1303), text(2)},
			RFC8166: Want{Call: "MSG 308 read 52:101 read 180:202 read 500:1303", Reply: "MSG 60"}},
		{Name: "several write chunks, with inline data between them",
			Results: []Item{bulk(1), text(5), bulk(202), bulk(0), bulk(1303), text(2)},
			RFC8166: Want{Call: "MSG 172 write 1 write 202 write 0 write 1303",
				Reply: "MSG 216 write 1 write 202 write 0 write 1303"},
			Draft: Want{Call: "MSG 172 write 1 write 202 write 0 write 1303",
				Reply: "MSG 216 write 4 write 204 write 0 write 1304"}},
		{Name: "buffers that are empty at the end",
			Results: []Item{bulk(2000), bulk(0), bulk(0)},
			RFC8166: Want{Call: "MSG 100 write 2000", Reply: "MSG 108 write 2000"}},

		{Name: "write chunks without results", Room: []int{500, 700}, MaxReply: 100,
			RFC8166: Want{Call: "MSG 124 write 500 write 700", Reply: "MSG 108 write 0 write 0"}},
		{Name: "write chunks beyond the results", Results: []Item{bulk(400)}, Room: []int{500, 600, 700},
			RFC8166: Want{Call: "MSG 148 write 500 write 600 write 700", Reply: "MSG 140 write 400 write 0 write 0"}},
		{Name: "reply chunk not needed", Results: []Item{text(10)}, MaxReply: 3000,
			RFC8166: Want{Call: "MSG 96 reply 3024", Reply: "MSG 100 reply 0"}},
		{Name: "neither write chunk nor reply chunk needed", Results: []Item{text(10)}, Room: []int{100},
			MaxReply: 3000,
			RFC8166:  Want{Call: "MSG 120 write 100 reply 3024", Reply: "MSG 124 write 0 reply 0"}},
		{Name: "reply chunk partly filled", Results: []Item{text(1501)}, MaxReply: 3000,
			RFC8166: Want{Call: "MSG 96 reply 3024", Reply: "NOMSG 48 reply 1544"}},
		{Name: "reply chunk for a result without a write chunk", Results: []Item{bulk(2000), bulk(1501)},
			Room: []int{2000}, MaxReply: 3000,
			RFC8166: Want{Call: "MSG 120 write 2000 reply 3024", Reply: "NOMSG 72 write 2000 reply 1552"}},

		// Results with no place, or with too little room.
		{Name: "write chunk too small, but there is room inline", Results: []Item{bulk(101), bulk(2000)},
			Room: []int{100, 2000}, MaxReply: 100,
			RFC8166: Want{Call: "MSG 124 write 100 write 2000", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 124 write 100 write 2000", Reply: "MSG 228 write 0 write 2000"}},
		{Name: "write chunk too small by one byte", Results: []Item{bulk(2001)}, Room: []int{2000},
			RFC8166: Want{Call: "MSG 100 write 2000", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 100 write 2000", Reply: "MSG 116 read 36:2001 write 0"}},
		{Name: "write chunk too small, reply chunk large enough", Results: []Item{bulk(2001)},
			Room: []int{2000}, MaxReply: 3000,
			RFC8166: Want{Call: "MSG 120 write 2000 reply 3024", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 120 write 2000 reply 3024", Reply: "NOMSG 72 write 0 reply 2044"}},
		{Name: "result without a write chunk", Results: []Item{bulk(2001), bulk(3001)}, Room: []int{2001},
			MaxReply: 100,
			RFC8166:  Want{Call: "MSG 100 write 2001", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:    Want{Call: "MSG 100 write 2001", Reply: "MSG 124 read 2048:3001 write 2004"}},
		{Name: "long result beside write and read chunks",
			Results: []Item{bulk(2001), text(2002), bulk(3001)}, Room: []int{2001}, MaxReply: 100,
			RFC8166: Want{Call: "MSG 100 write 2001", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 100 write 2001", Reply: "NOMSG 100 read 0:2060 read 4060:3001 write 2004"}},
		{Name: "reply longer than expected", Results: []Item{text(2001)}, MaxReply: 100,
			RFC8166: Want{Call: "MSG 76", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 76", Reply: "NOMSG 52 read 0:2044"}},
		{Name: "reply chunk too small by one byte", Results: []Item{text(2001)}, MaxReply: 2016,
			RFC8166: Want{Call: "MSG 96 reply 2040", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 96 reply 2040", Reply: "NOMSG 72 read 0:2044 reply 0"}},
		{Name: "reply chunk too small, but not without its bulk data", Results: []Item{bulk(3001), text(800)},
			Room: []int{}, MaxReply: 1100,
			RFC8166: Want{Call: "MSG 96 reply 1124", Reply: "ERROR 20 ERR_CHUNK"},
			Draft:   Want{Call: "MSG 96 reply 1124", Reply: "MSG 920 read 36:3001 reply 0"}},
	}
	for _, c := range cells {
		c.Client, c.Server = cfg, cfg
		if c.Draft == (Want{}) {
			c.Draft = c.RFC8166
		}
	}
	return append(cells,
		&Cell{Name: "read chunks both ways", Client: quiet, Server: cfg, Args: []Item{bulk(3001)},
			Results: []Item{bulk(3002), text(1)},
			RFC8166: Want{Call: "MSG 132 read 52:3001 write 3002", Reply: "MSG 104 write 3002"},
			Draft:   Want{Call: "MSG 108 read 52:3001", Reply: "MSG 104 read 36:3002"}},
		&Cell{Name: "long both ways, to be read", Client: quiet, Server: cfg,
			Args: []Item{text(3001), bulk(500)}, Results: []Item{bulk(700), text(3002)},
			RFC8166: Want{Call: "NOMSG 120 read 0:3068 read 3064:500 write 700 reply 3052",
				Reply: "NOMSG 72 write 700 reply 3052"},
			Draft: Want{Call: "NOMSG 76 read 0:3068 read 3064:500", Reply: "NOMSG 76 read 0:3052 read 36:700"}},
	)
}
