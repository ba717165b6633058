package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// The presets are what connections with some kinds of peer need: a Config to begin with, for a
// Dialer and for a Listener. What they say of the peers is what the drivers of Linux 6.1 do, with
// the parameters that they have by default. The one for siw is in this file, and is tried with siw
// itself (interop/linux). Those for adapters are in presets_adapters.go.
//
// All of them set PrivateLimit to 255, which leaves 251 bytes for the upper layer in an enhanced
// setup: Linux keeps the length of private data in eight bits.

// privateLimit is the most private data in bytes that these peers pass on for sure.
const privateLimit = 255

// SiwConfig is for Soft-iWARP, Linux's siw. The zero Config does as well, except that it lets the
// upper layer send more private data than siw takes.
//
// What is set, and why:
//
//   - RTR: Write or Read, which siw sends and takes. Asked for a Send it names a Write.
//   - Markers: off, as they are by default. siw refuses requests that want them, and leaves when a
//     reply does.
//   - PrivateLimit: 255. siw drops frames with more than 256 bytes.
//
// What is not: CRC, since siw goes by what is asked for, and wants none by default; IRD and ORD, of
// which siw has up to 128, and takes mpa.ReadsManual for a number; NudgeAfter, whose default is
// made for siw.
func SiwConfig() Config {
	return Config{
		RTR:          mpa.RTRWrite | mpa.RTRRead,
		Markers:      mpa.MarkersOff,
		PrivateLimit: privateLimit,
	}
}
