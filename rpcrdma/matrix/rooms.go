package matrix

import "fmt"

// rooms has chunks of exactly the size written to them, and slightly smaller and larger ones.
func rooms() (cells []*Cell) {
	for _, n := range []int{2000, 2001} {
		for room := n - 1; room <= n+4; room++ {
			c := both(&Cell{Name: fmt.Sprintf("%d bytes in a write chunk of %d", n, room),
				Results: []Item{bulk(n)}, Room: []int{room}}, small,
				fmt.Sprintf("MSG 100 write %d", room), fmt.Sprintf("MSG 92 write %d", n))
			c.Draft.Reply = fmt.Sprintf("MSG 92 write %d", roundUp(n))
			if room < n {
				c.RFC8166.Reply = "ERROR 20 ERR_CHUNK"
				c.Draft.Reply = fmt.Sprintf("MSG 116 read 36:%d write 0", n)
			}
			cells = append(cells, c)
		}
	}
	c := both(&Cell{Name: "a write chunk too small between others",
		Results: []Item{bulk(33), bulk(2001), bulk(6)}, Room: []int{33, 2000, 6}}, small,
		"MSG 148 write 33 write 2000 write 6", "ERROR 20 ERR_CHUNK")
	c.Draft.Reply = "MSG 180 read 80:2001 write 36 write 0 write 8"
	cells = append(cells, c)

	for room := 2040; room <= 2052; room += 4 {
		c := both(&Cell{Name: fmt.Sprintf("2044 bytes in a reply chunk of %d", room),
			Results: []Item{text(2001)}, MaxReply: room - 24}, small,
			fmt.Sprintf("MSG 96 reply %d", room), "NOMSG 48 reply 2044")
		if room < 2044 {
			c.RFC8166.Reply = "ERROR 20 ERR_CHUNK"
			c.Draft.Reply = "NOMSG 72 read 0:2044 reply 0"
		}
		// Once bulk data goes by read chunk, the rest may fit (draft section 5.2).
		d := both(&Cell{Name: fmt.Sprintf("2044 bytes beside a read chunk, in a reply chunk of %d", room),
			Results: []Item{bulk(3001), text(1993)}, Room: []int{},
			MaxReply: room - 24}, small, fmt.Sprintf("MSG 96 reply %d", room), "ERROR 20 ERR_CHUNK")
		d.Draft.Reply = "NOMSG 72 read 36:3001 reply 2044"
		e := both(&Cell{
			Name:    fmt.Sprintf("2044 bytes beside write and read chunks, in a reply chunk of %d", room),
			Results: []Item{bulk(3001), text(1986), bulk(5)},
			Room:    []int{3001}, MaxReply: room - 24}, small, fmt.Sprintf("MSG 120 write 3001 reply %d", room),
			"ERROR 20 ERR_CHUNK")
		e.Draft.Reply = "NOMSG 96 read 5044:5 write 3004 reply 2044"
		switch {
		case room < 2044:
			d.Draft.Reply = "NOMSG 96 read 0:2044 read 36:3001 reply 0"
			e.Draft.Reply = "NOMSG 120 read 0:2044 read 5044:5 write 3004 reply 0"
		case room == 2052: // all of it fits
			e.RFC8166.Reply = "NOMSG 72 write 3001 reply 2052"
			e.Draft.Reply = "NOMSG 72 write 3004 reply 2052"
		}
		cells = append(cells, c, d, e)
	}
	return cells
}
