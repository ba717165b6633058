//go:build interop

package linux

import (
	"regexp"
	"strings"
)

// The kernel's messages once siw or rdma_rxe is loaded.
const (
	siwAttached = "SoftiWARP attached"
	rxeLoaded   = "rdma_rxe: loaded"
)

var (
	// fine matches the messages of a healthy kernel from then on. The kernel does not report that
	// an NFS client connects, loses its connection, or connects again.
	fine = regexp.MustCompile(`^\[ *[0-9.]+\] (` + strings.Join([]string{
		siwAttached,
		`infiniband rxe0: (set active|added eth1)`,
		`eth[01] speed is unknown, defaulting to 1000`, // siw and rdma_rxe ask
		// When rdma_rxe 6.1 sends requests again, it also repeats the registrations of memory among
		// them, which fail. NFS connects again after a minute.
		`rdma_rxe: rxe_reg_fast_mr: mr->lkey = 0x[0-9a-f]+ not free`,
		`Key type (dns_resolver|id_resolver|id_legacy) registered`, // by NFSv4
		`NFS: Registering the id_resolver key type`,
		`IPv6: ADDRCONF\(NETDEV_CHANGE\): eth[01]: link becomes ready`,
		// build makes this one (see there)
		`auth_rpcgss: (loading out-of-tree module taints kernel\.|module verification failed: .*)`,
		// there is no daemon that maps ports
		`iwpm_register_pid: Unable to send a nlmsg \(client = 2\)`,
		`\w+ \(\d+\): drop_caches: 3`, // the tests do that
		// A machine that is emulated on a busy one has trouble with the time.
		`hrtimer: interrupt took .*`,
		`clocksource: .*`,
		`tsc: Marking TSC unstable due to clocksource watchdog`,
		`TSC found unstable after boot, .*`,
		`sched_clock: Marking unstable .*`,
		`perf: interrupt took too long .*`,
		`sched: RT throttling activated`,
	}, "|") + `)$`)
	// sick matches messages that must not appear before.
	sick = regexp.MustCompile(`WARNING|BUG:|Oops|Call Trace|Out of memory`)
)

// unhealthy returns the lines of the kernel's messages that a healthy machine does not print, and
// that match no known expression.
func unhealthy(dmesg string, known []string) (lines []string) {
	boot, after, found := strings.Cut(dmesg, siwAttached)
	if !found {
		boot, after, found = strings.Cut(dmesg, rxeLoaded)
	}
	if !found {
		return []string{"no message that siw was attached, or rdma_rxe loaded"}
	}
	for line := range strings.Lines(boot) {
		if sick.MatchString(line) {
			lines = append(lines, line)
		}
	}
	_, after, _ = strings.Cut(after, "\n")
	for line := range strings.Lines(after) {
		line = strings.TrimSuffix(line, "\n")
		if !fine.MatchString(line) && !matches(line, known) && !splitTrailer(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// matches reports whether a line matches one of the expressions.
func matches(line string, expressions []string) bool {
	for _, e := range expressions {
		if regexp.MustCompile(e).MatchString(line) {
			return true
		}
	}
	return false
}
