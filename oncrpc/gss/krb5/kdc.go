package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Limits on an exchange with a KDC.
const (
	kdcPort     = "88"
	tcpPatience = 5 * time.Second // for one KDC
	udpPatience = time.Second     // for one transmission
	udpTries    = 3
	maxReply    = 256 << 10 // bytes
)

// addresses returns where the KDCs of a realm listen, according to krb5.conf or else to DNS.
func (p *profile) addresses(ctx context.Context, realm string) ([]string, error) {
	var addrs []string
	for _, kdc := range p.realms[realm]["kdc"] {
		if strings.Contains(kdc, "://") {
			continue // a proxy that speaks HTTPS
		}
		addrs = append(addrs, withPort(kdc))
	}
	if len(addrs) > 0 {
		return addrs, nil
	}
	if !p.flag("dns_lookup_kdc", true) {
		return nil, fmt.Errorf("krb5.conf has no kdc of realm %s, and dns_lookup_kdc is false", realm)
	}
	for _, protocol := range []string{"tcp", "udp"} {
		_, found, err := net.DefaultResolver.LookupSRV(ctx, "kerberos", protocol, realm)
		if err != nil {
			continue
		}
		for _, f := range found {
			host := strings.TrimSuffix(f.Target, ".")
			addrs = append(addrs, net.JoinHostPort(host, strconv.Itoa(int(f.Port))))
		}
		if len(addrs) > 0 {
			return addrs, nil
		}
	}
	return nil, fmt.Errorf("neither krb5.conf nor DNS has a KDC of realm %s", realm)
}

// withPort returns the address of a KDC given as HOST, HOST:PORT, or an IPv6 address in brackets.
func withPort(kdc string) string {
	if _, _, err := net.SplitHostPort(kdc); err == nil {
		return kdc
	}
	return net.JoinHostPort(strings.Trim(kdc, "[]"), kdcPort)
}

// transports are the ways to ask a KDC, in order.
var transports = []func(ctx context.Context, addr string, request []byte) ([]byte, error){
	overTCP, overUDP,
}

// send sends a request to the KDCs of a realm and returns the first reply. It tries TCP first,
// because all KDCs support it (RFC 4120 section 7.2.2) and replies may be long.
func (p *profile) send(ctx context.Context, realm string, request []byte) ([]byte, error) {
	addrs, err := p.addresses(ctx, realm)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, addr := range addrs {
		for _, exchange := range transports {
			reply, err := exchange(ctx, addr, request)
			if err == nil {
				return reply, nil
			}
			if ctx.Err() != nil {
				return nil, noAnswer(realm, append(errs, err, context.Cause(ctx)))
			}
			errs = append(errs, err)
		}
	}
	return nil, noAnswer(realm, errs)
}

func noAnswer(realm string, errs []error) error {
	return fmt.Errorf("no KDC of realm %s has answered, see [realms] in krb5.conf: %w", realm,
		attempts(errs))
}

// attempts are the errors of all attempts, printed on one line.
type attempts []error

func (a attempts) Error() string {
	var words []string
	for _, err := range a {
		words = append(words, err.Error())
	}
	return strings.Join(words, "; ")
}

func (a attempts) Unwrap() []error { return a }

// dial connects to a KDC. The connection ends with ctx, or when done is called.
func dial(ctx context.Context, network, addr string) (c net.Conn, done func(), err error) {
	var d net.Dialer
	c, err = d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	return c, func() { stop(); c.Close() }, nil
}

func overTCP(ctx context.Context, addr string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tcpPatience)
	defer cancel()
	c, done, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer done()
	message := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(request)), uint32(len(request)))
	if _, err := c.Write(append(message, request...)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil, fmt.Errorf("KDC %s: %w", addr, err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxReply {
		return nil, fmt.Errorf("KDC %s sends %d bytes, more than %d", addr, n, maxReply)
	}
	reply := make([]byte, n)
	if _, err := io.ReadFull(c, reply); err != nil {
		return nil, fmt.Errorf("KDC %s: %w", addr, err)
	}
	return reply, nil
}

func overUDP(ctx context.Context, addr string, request []byte) ([]byte, error) {
	c, done, err := dial(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	defer done()
	reply := make([]byte, 64<<10)
	for range udpTries {
		if err = c.SetDeadline(time.Now().Add(udpPatience)); err != nil {
			return nil, err
		}
		if ctx.Err() != nil { // it may have ended before SetDeadline
			return nil, ctx.Err()
		}
		if _, err = c.Write(request); err != nil {
			return nil, err
		}
		var n int
		if n, err = c.Read(reply); err == nil {
			return reply[:n], nil
		}
		if !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, err
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
