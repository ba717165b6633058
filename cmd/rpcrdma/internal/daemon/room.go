package daemon

// Room is how many connections may have descriptors of the process, at each kind of port. Ports of
// UDP, for SCTP and RoCE, have a descriptor for each address, however many peers there are.
type Room struct {
	Conns    int // of a server, at all its ports over TCP and iWARP
	Lookups  int // at the ports for look-ups, where a client makes one call
	Startups int // at each port of iWARP, until they are among Conns or Lookups, or refused
	HTTP     int // at each of --metrics and --debug
}

// roomOf shares out the descriptors that a process may have: half to ports at most, for files the
// rest (package dirfs). A gateway has no files, but for each connection two more, to its server.
func roomOf(descriptors uint64) Room {
	part := func(of, least, most uint64) int { return int(min(most, max(least, descriptors/of))) }
	return Room{
		Conns:    part(4, 16, 1024),
		Lookups:  part(32, 4, 64),
		Startups: part(16, 4, 256),
		HTTP:     part(32, 4, 32),
	}
}
