package probe

import (
	"context"
	"strings"
)

// silent returns why a call that reads from disk got no answer. NULL, which reads nothing, tells
// whether the server hangs or its disk: it tries NULL on the same connection, then on a new one,
// because some servers handle one call per connection at a time.
func (c *caller) silent(ctx context.Context, what string) Finding {
	f, same := c.silence(ctx, what, "", "")
	if same || f.Cause == CauseNoAnswer {
		return f
	}
	return diskHangs(what)
}

// failSilent reports silent. It returns false.
func (c *caller) failSilent(ctx context.Context, what string) bool {
	return c.report.add(c.silent(ctx, what))
}

// silence tries NULL on the connection, and then on a new one. If only the new one answers, the old
// one is stuck behind a lost packet of full size. way and sender say where such packets are lost,
// and who sends them. same is true if the same connection answers.
func (c *caller) silence(ctx context.Context, what, way, sender string) (f Finding, same bool) {
	if c.null(ctx, c.conn) == nil {
		return diskHangs(what), true
	}
	c.disconnect()
	limited, cancel := c.limit(ctx)
	defer cancel()
	conn, err := c.connect(limited)
	if err == nil {
		c.conn = conn
		err = c.null(ctx, conn)
	}
	if err != nil {
		return Finding{Status: Fail, Cause: CauseNoAnswer,
			Found: what + " gets no answer, and now neither does NULL",
			Do:    "the server has stopped answering: see its log"}, false
	}
	return Finding{Status: Fail, Cause: CauseMTU,
		Found: what + " gets no answer, and the connection is stuck; NULL on a new one is answered",
		Do: "packets of full size are probably lost on the way " + way + ". Set the same MTU " +
			"at both ends and in all switches between ('ping -M do -s 8972 HOST' tries 9000 " +
			"bytes), or let ICMP \"fragmentation needed\" through; meanwhile lower the interface's " +
			"MTU " + sender + ", or turn on net.ipv4.tcp_mtu_probing there"}, false
}

// diskHangs is the finding for a server that answers NULL and nothing else. MNT may also wait for a
// name service.
func diskHangs(what string) Finding {
	more := ""
	if strings.HasPrefix(what, "MNT ") {
		more = ". Or MOUNT waits for a look-up of this host's name"
	}
	return Finding{Status: Fail, Cause: CauseDisk,
		Found: what + " gets no answer, but NULL, which reads nothing, does",
		Do: "the server is up, but its disk or the exported file system hangs: look for " +
			"processes in state D and for disk errors there (dmesg), and for a dead NFS or " +
			"cluster file system below the export" + more}
}
