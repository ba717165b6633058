package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// MaxPrivateData returns how many bytes of private data Dial can send: Config.PrivateLimit, or else
// 512, less four if enhanced setup is asked for. Linux drops connections with more than 256.
func (d Dialer) MaxPrivateData() int {
	return d.Config.maxPrivateData()
}

// MaxPrivateReply returns how many bytes of private data fit in a reply to any peer:
// Config.PrivateLimit, or else 512, less four if replies may be enhanced.
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
