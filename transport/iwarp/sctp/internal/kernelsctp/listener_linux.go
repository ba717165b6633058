package kernelsctp

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// Listener accepts the sessions that peers ask for on any association.
type Listener struct {
	cfg    sctp.Config
	socket *socket
	addr   sctp.Addr
	ready  chan *sctp.Conn
	done   chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen listens at an IPv4 address and an SCTP port. It uses cfg.Streams and what concerns
// sessions.
func Listen(addr netip.AddrPort, cfg sctp.Config) (*Listener, error) {
	fd, err := open(cfg)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, sockaddr(addr)); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("listen", err)
	}
	l := &Listener{cfg: cfg, ready: make(chan *sctp.Conn, 128), done: make(chan struct{})}
	if l.socket, err = wrap(fd); err != nil {
		return nil, err
	}
	if l.addr, err = l.socket.address(unix.Getsockname); err != nil {
		l.socket.file.Close()
		return nil, err
	}
	go l.run()
	return l, nil
}

func sockaddr(a netip.AddrPort) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// run takes associations until the socket is closed.
func (l *Listener) run() {
	for {
		var fd int
		var err error
		waitErr := l.socket.conn.Read(func(at uintptr) bool {
			fd, _, err = unix.Accept4(int(at), unix.SOCK_CLOEXEC)
			return err != unix.EAGAIN
		})
		if waitErr != nil {
			return
		}
		if err == nil {
			go l.take(fd)
		}
	}
}

// take takes an association. It aborts one whose peer does not indicate DDP.
func (l *Listener) take(fd int) {
	s, err := wrap(fd)
	if err != nil {
		return
	}
	a, err := begin(s)
	if err != nil {
		return
	}
	if _, err = sctp.Carry(l.cfg, a, a.local, a.remote, l.offer); err != nil {
		a.Abort(err.Error())
	}
}

// offer hands a session to Accept.
func (l *Listener) offer(c *sctp.Conn) bool {
	select {
	case <-l.done:
		return false
	default:
	}
	select {
	case l.ready <- c:
		return true
	default:
		return false
	}
}

// Accept waits for a session that a peer asks for. It returns a *sctp.Conn.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close stops listening. Sessions stay.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.socket.file.Close()
	})
	return nil
}

// Addr returns the sctp.Addr listened on.
func (l *Listener) Addr() net.Addr { return l.addr }

// Dialer opens sessions, each on an association of its own. It uses Config.Streams and what
// concerns sessions.
type Dialer struct{ Config sctp.Config }

// DialContext returns a new session, a *sctp.Conn, that the peer has not been asked for yet. The
// address is IPv4 with an SCTP port. The kernel bounds the time.
func (d Dialer) DialContext(_ context.Context, _, addr string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	fd, err := open(d.Config)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, sockaddr(to)); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	s, err := wrap(fd)
	if err != nil {
		return nil, err
	}
	a, err := begin(s)
	if err != nil {
		return nil, err
	}
	open, err := sctp.Carry(d.Config, a, a.local, a.remote, nil)
	if err != nil {
		a.Abort(err.Error())
		return nil, err
	}
	return open()
}
