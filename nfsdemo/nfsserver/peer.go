package nfsserver

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// admit returns the rule that applies to a peer of an export. It returns nfs3.ErrAcces, and logs
// why, if the peer may not use the export.
func (s *Server) admit(e *export, q *request) (*Rule, error) {
	addr := q.conn.RemoteAddr()
	r := e.ruleFor(peerhost.Of(addr))
	why := ""
	switch {
	case r == nil:
		why = "nfs: the export is not for this peer"
	case r.Privileged && (q.port == 0 || q.port >= firstUnprivileged):
		why = "nfs: the export is for ports below 1024, and the peer's is not (insecure would allow it)"
	default:
		return r, nil
	}
	atomic.AddUint64(&s.stats.Refused, 1)
	s.log.Fault(addr, why, e, "export", e.Path)
	return nil, nfs3.ErrAcces
}

// refuseFlavor logs that an export does not allow the flavour of a call, and returns nfs3.ErrAcces.
func (s *Server) refuseFlavor(e *export, q *request, r *Rule) error {
	atomic.AddUint64(&s.stats.Refused, 1)
	args := []any{"export", e.Path, "flavor", q.flavor, "wanted", mount3.FormatFlavors(r.Flavors)}
	if q.principal != "" {
		args = append(args, "principal", printable(q.principal))
	}
	s.log.Fault(q.conn.RemoteAddr(), "nfs: the export is not for calls with this flavour (sec=)", e,
		args...)
	return nfs3.ErrAcces
}

// firstUnprivileged is the first port that Unix gives to any process.
const firstUnprivileged = 1024
