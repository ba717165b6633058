package exports

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ignored are options for what is so anyway, or for what this server does not have.
var ignored = map[string]bool{
	"sync": true, "subtree_check": true, "no_subtree_check": true, "wdelay": true, "no_wdelay": true,
	"hide": true, "nohide": true, "acl": true, "no_acl": true, "auth_nlm": true,
	"no_auth_nlm": true, "secure_locks": true, "insecure_locks": true, "no_pnfs": true,
}

// refused are Linux's options that this server cannot honour, with the reason.
var refused = map[string]string{
	"async":          "data that is answered for would be lost: leave it out",
	"pnfs":           "there is no pNFS",
	"security_label": "there are no labels in NFS version 3",
	"refer":          "there are no referrals in NFS version 3",
	"replicas":       "there are no replicas in NFS version 3",
	"xprtsec":        "TLS is for a whole server: see rpcrdma serve --tls-cert",
}

// parse applies a list of options. Later options override earlier ones.
func (o *Options) parse(list string) error {
	o.Flavors, o.each = slices.Clone(o.Flavors), maps.Clone(o.each)
	o.current = nil
	defer o.settle()
	for list != "" {
		var word string
		if word, list, _ = strings.Cut(list, ","); word == "" {
			return fmt.Errorf("there is nothing before a comma")
		}
		if err := o.set(word); err != nil {
			return fmt.Errorf("option %s: %w", word, err)
		}
	}
	return nil
}

func (o *Options) set(word string) (err error) {
	name, value, has := strings.Cut(word, "=")
	switch {
	case ignored[word]:
	case name == "fsid" && has:
		return checkFSID(value)
	case name == "sec" && has:
		return o.setFlavors(value)
	case varying[word] != nil:
		o.vary(varying[word])
	case word == "secure":
		o.Insecure = false
	case word == "insecure":
		o.Insecure = true
	case name == "anonuid" && has:
		o.AnonUID, err = parseID(value)
	case name == "anongid" && has:
		o.AnonGID, err = parseID(value)
	case name == "mp" || name == "mountpoint":
		if o.mountPoint = "."; has { // the path itself
			if !path.IsAbs(value) {
				return fmt.Errorf("%q is not an absolute path", value)
			}
			o.mountPoint = path.Clean(value)
		}
	case word == "crossmnt", word == "nocrossmnt":
		o.crossmnt = word == "crossmnt"
	case word == "memory":
		o.memory = true
	case refused[name] != "":
		return fmt.Errorf("%s", refused[name])
	default:
		return fmt.Errorf("it is not known")
	}
	return err
}

// checkFSID checks a number or a UUID, which changes nothing, as exportfs does. With ; for a comma,
// the options behind it would be part of it.
func checkFSID(s string) error {
	digits := 0
	for _, c := range s {
		if strings.ContainsRune("0123456789abcdefABCDEF", c) {
			digits++
		}
	}
	if _, err := strconv.ParseUint(s, 0, 64); err != nil && digits != 32 && s != "root" {
		return fmt.Errorf("write a number, a UUID, or root")
	}
	return nil
}

// parseID parses the number of a user or group. In exports(5), -1 and -2 are 32-bit numbers. -1 is
// no user, so it is an error.
func parseID(s string) (uint32, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if n == -2 {
		n = math.MaxUint32 - 1
	}
	if err != nil || n < 0 || n >= math.MaxUint32 {
		return 0, fmt.Errorf("write a number from 0 to 4294967294")
	}
	return uint32(n), nil
}
