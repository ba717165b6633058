package probe

import (
	"context"
	"strings"
)

// silent says what it means that a call which reads from the disk got no answer. NULL, which reads
// nothing, tells a server that hangs from its disk: on the same connection, or on a new one if the
// server handles one call of a connection at a time.
func (p *Prober) silent(ctx context.Context, what string) Finding {
	f, same := p.silence(ctx, what, "", "")
	if same || f.Cause == CauseNoAnswer {
		return f
	}
	return diskHangs(what)
}

// failSilent adds that. It returns false.
func (p *Prober) failSilent(ctx context.Context, what string) bool {
	return p.report.add(p.silent(ctx, what))
}

// silence tries NULL on the connection, and then on a new one. It says that packets of full size
// are lost if only the latter is answered: the connection is stuck behind such a packet. It says on
// which way, and where packets of full size are sent.
func (p *Prober) silence(ctx context.Context, what, way, sender string) (f Finding, same bool) {
	if p.null(ctx, p.conn) == nil {
		return diskHangs(what), true
	}
	p.disconnect()
	limited, cancel := p.limit(ctx)
	defer cancel()
	conn, err := p.connect(limited)
	if err == nil {
		p.conn = conn
		err = p.null(ctx, conn)
	}
	if err != nil {
		return Finding{Status: Fail, Cause: CauseNoAnswer,
			Found: what + " gets no answer, and now neither does NULL",
			Do:    "the server has stopped answering: see its log"}, false
	}
	return Finding{Status: Fail, Cause: CauseMTU,
		Found: what + " gets no answer, and the connection is stuck; NULL on a new one is answered",
		Do: "packets of full size are lost on the way " + way + ", most likely. Set the same MTU " +
			"at both ends and in all switches between ('ping -M do -s 8972 HOST' tries 9000 " +
			"bytes), or let ICMP \"fragmentation needed\" through; meanwhile lower the interface's " +
			"MTU " + sender + ", or turn on net.ipv4.tcp_mtu_probing there"}, false
}

// diskHangs is a server that answers NULL and nothing else. The first mount may wait for a name
// service as well.
func diskHangs(what string) Finding {
	more := ""
	if strings.HasPrefix(what, "MNT ") {
		more = ". Or MOUNT waits for a look-up of this host's name"
	}
	return Finding{Status: Fail, Cause: CauseDisk,
		Found: what + " gets no answer, while NULL, which reads nothing, does",
		Do: "the server is up, and its disk hangs, or the file system that it exports: look for " +
			"processes in state D and for disk errors there (dmesg), and for a dead NFS or " +
			"cluster file system below the export" + more}
}
