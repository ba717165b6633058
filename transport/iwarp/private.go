package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// MaxPrivateData returns what goes in a startup frame: Config.PrivateLimit, or else 512,
// less four for the data of an enhanced setup, if that is asked for. Linux drops
// connections with more than 256 bytes.
func (d Dialer) MaxPrivateData() int {
	return d.Config.maxPrivateData()
}

// MaxPrivateReply returns what goes in the reply to any peer: Config.PrivateLimit, or else
// 512, less four for the data of an enhanced setup, unless there is none.
func (l *Listener) MaxPrivateReply() (accept, reject int) {
	n := l.cfg.maxPrivateData()
	return n, n
}

func (c *Config) maxPrivateData() int {
	n := mpa.MaxPrivateData
	if c.PrivateLimit > 0 {
		n = c.PrivateLimit
	}
	if c.Enhanced != mpa.EnhancedNever && c.RNIC != mpa.RDMAC && c.Version != mpa.VersionRDMAC {
		n -= mpa.EnhancedDataLen
	}
	return n
}
