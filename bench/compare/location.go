package main

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// location is the place of an export over TCP. Its text is a URL for libnfs.
type location struct {
	host       string
	nfs, mount int // ports
	path       string
}

// at returns the location of the root export served at addr, for both NFS and MOUNT.
func at(addr net.Addr) location {
	a := addr.(*net.TCPAddr)
	return location{a.IP.String(), a.Port, a.Port, "/"}
}

func (l location) String() string {
	return fmt.Sprintf("nfs://%s%s?nfsport=%d&mountport=%d", l.host, l.path, l.nfs, l.mount)
}

func parseLocation(s string) (location, error) {
	u, err := url.Parse(s)
	if err != nil {
		return location{}, err
	}
	l := location{host: u.Host, path: u.Path}
	if l.nfs, err = strconv.Atoi(u.Query().Get("nfsport")); err != nil {
		return location{}, fmt.Errorf("port of NFS in %s: %w", s, err)
	}
	if l.mount, err = strconv.Atoi(u.Query().Get("mountport")); err != nil {
		return location{}, fmt.Errorf("port of MOUNT in %s: %w", s, err)
	}
	return l, nil
}

func (l location) nfsAddr() string   { return net.JoinHostPort(l.host, strconv.Itoa(l.nfs)) }
func (l location) mountAddr() string { return net.JoinHostPort(l.host, strconv.Itoa(l.mount)) }
