package reach

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// overSCTP has the dialers of rdma+sctp://. All connections to one server are streams of one
// association.
var overSCTP struct {
	sync.Mutex
	dialers map[sctpKey]*sctp.Dialer
}

// sctpKey identifies a dialer.
type sctpKey struct {
	udp   int
	trace *trace.Writer
}

// CloseSCTP ends the associations, and waits up to UnmountTime until the servers know. Otherwise
// the servers would keep them until a timeout.
func CloseSCTP() {
	ctx, cancel := context.WithTimeout(context.Background(), UnmountTime)
	defer cancel()
	overSCTP.Lock()
	defer overSCTP.Unlock()
	for _, d := range overSCTP.dialers {
		_ = d.Close(ctx) // the time is over
	}
}

// dialerOverSCTP returns a dialer that connects to the target on its association.
func (t Target) dialerOverSCTP(w *trace.Writer, low iwarp.Config) (transport.Dialer, error) {
	key := sctpKey{cmp.Or(t.UDP, sctp.DefaultUDPPort), w}
	overSCTP.Lock()
	defer overSCTP.Unlock()
	d := overSCTP.dialers[key]
	if d == nil {
		var err error
		d, err = sctp.NewDialer(sctp.Config{
			UDPPort: key.udp, Logger: low.Logger, Trace: Datagrams(w),
		})
		if err != nil {
			return nil, err
		}
		if overSCTP.dialers == nil {
			overSCTP.dialers = make(map[sctpKey]*sctp.Dialer)
		}
		overSCTP.dialers[key] = d
	}
	return iwarp.Dialer{Config: low, DialContext: d.DialContext}, nil
}

// UnmountTime bounds how long all servers may take to forget a mount, or the end of an association.
const UnmountTime = time.Second
