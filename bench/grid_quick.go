package bench

// QuickGrid returns about 40 points for a first look. Most are over iWARP: where chunks become
// faster than inline, and how calls and connections scale. A few are over the other providers and
// TCP.
func QuickGrid() Grid {
	const kib, mib = 1 << 10, 1 << 20
	g := Grid{Name: "quick"}
	curve := func(path Path, way Way, inFlight, conns int, sizes ...int) {
		for _, size := range sizes {
			g.add(Point{path, way, size, inFlight, conns})
		}
	}
	for _, w := range []struct{ inline, chunk Way }{{InlineCall, ReadChunk}, {InlineReply, WriteChunk}} {
		curve(IWARP, w.inline, 8, 1, 256, 4*kib, 16*kib, 60*kib)
		curve(IWARP, w.chunk, 8, 1, 256, 4*kib, 16*kib, 60*kib, 1*mib, 4*mib)
	}
	curve(IWARP, Padded, 8, 1, 4*kib, 60*kib)
	curve(IWARP, LongCall, 8, 1, 60*kib)
	curve(IWARP, ReplyChunk, 8, 1, 60*kib)

	curve(IWARP, InlineReply, 1, 1, 256)
	curve(IWARP, InlineReply, 64, 1, 256)
	curve(IWARP, InlineReply, 8, 4, 256)
	curve(IWARP, InlineReply, 8, 64, 256)
	curve(IWARP, WriteChunk, 1, 1, 1*mib)
	curve(IWARP, WriteChunk, 8, 4, 1*mib)

	for _, path := range []Path{Loopback, IWARPCRC, IWARPMarkers} {
		curve(path, WriteChunk, 8, 1, 4*kib, 1*mib)
	}
	curve(TCP, InlineCall, 8, 1, 4*kib, 1*mib)
	curve(TCP, InlineReply, 8, 1, 256, 4*kib, 1*mib)
	return g
}
