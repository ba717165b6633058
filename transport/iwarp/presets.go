package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// The presets are Configs to start from for a Dialer or a Listener, one for each kind of peer. They
// follow the drivers of Linux 6.1 with default parameters. The one for siw is in this file, and is
// tested with siw itself (interop/linux). Those for adapters are in presets_adapters.go.
//
// All of them set PrivateLimit to 255, which leaves 251 bytes for the upper layer in an enhanced
// setup: Linux keeps the length of private data in eight bits.

// privateLimit is the maximum private data in bytes that these peers pass on reliably.
const privateLimit = 255

// SiwConfig is the Config for Soft-iWARP, Linux's siw. The zero Config works as well, but lets the
// upper layer send more private data than siw takes.
//
// It sets:
//
//   - RTR to Write or Read, which siw sends and takes. If offered a Send, siw names a Write.
//   - Markers to off, the default. siw refuses requests that want them, and leaves if a reply does.
//   - PrivateLimit to 255. siw drops frames with more than 256 bytes.
//
// It leaves alone:
//
//   - CRC: siw does what the peer asks for, and wants none by default.
//   - IRD and ORD: siw has up to 128. It takes mpa.ReadsManual for a number.
//   - NudgeAfter: the default is made for siw.
func SiwConfig() Config {
	return Config{
		RTR:          mpa.RTRWrite | mpa.RTRRead,
		Markers:      mpa.MarkersOff,
		PrivateLimit: privateLimit,
	}
}
