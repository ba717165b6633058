package mount3

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// Flavor is a security flavour for calls of NFS, as MNT lists them. It is a flavour of RPC, or a
// pseudo flavour: RPCSEC_GSS with a mechanism and a service (RFC 2623 section 3.2).
type Flavor uint32

// Flavours. Servers may send others.
const (
	FlavorNone  Flavor = 0      // AUTH_NONE: no caller is named
	FlavorSys   Flavor = 1      // AUTH_SYS: callers say who they are
	FlavorKrb5  Flavor = 390003 // Kerberos 5: callers prove who they are (RFC 2623 section 4.2)
	FlavorKrb5i Flavor = 390004 // the same, with checksums of arguments and results
	FlavorKrb5p Flavor = 390005 // the same, with encryption of arguments and results
)

// flavorNames are the names in exports(5) and nfs(5).
var flavorNames = map[Flavor]string{
	FlavorNone: "none", FlavorSys: "sys",
	FlavorKrb5: "krb5", FlavorKrb5i: "krb5i", FlavorKrb5p: "krb5p",
}

// String returns the name for options such as sec=, for example "krb5p".
func (f Flavor) String() string {
	if n, ok := flavorNames[f]; ok {
		return n
	}
	return fmt.Sprintf("flavour %d", uint32(f))
}

// ParseFlavor returns the flavour with a name such as "krb5p".
func ParseFlavor(name string) (Flavor, error) {
	for f, n := range flavorNames {
		if n == name {
			return f, nil
		}
	}
	if strings.Contains(name, ",") {
		return 0, fmt.Errorf("%q is no flavour: write colons between them", name)
	}
	return 0, fmt.Errorf("%q is no flavour: there are sys, krb5, krb5i, krb5p and none", name)
}

// ParseFlavors returns the flavours of a list such as "krb5p:krb5i:sys", in that order. A flavour
// that comes twice is an error.
func ParseFlavors(list string) (flavors []Flavor, err error) {
	for name := range strings.SplitSeq(list, ":") {
		f, err := ParseFlavor(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(flavors, f) {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		flavors = append(flavors, f)
	}
	return flavors, nil
}

// FormatFlavors returns a list for ParseFlavors.
func FormatFlavors(flavors []Flavor) string {
	var b strings.Builder
	for i, f := range flavors {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// FlavorOf returns the flavour of a call that a server has accepted.
func FlavorOf(c *oncrpc.Call) Flavor {
	if caller, ok := c.Identity().(*gss.Caller); ok {
		switch caller.Service {
		case gss.None:
			return FlavorKrb5
		case gss.Integrity:
			return FlavorKrb5i
		case gss.Privacy:
			return FlavorKrb5p
		}
	}
	return Flavor(c.Cred.Flavor)
}

// Service returns the RPCSEC_GSS service of a pseudo flavour, or 0 for other flavours.
func (f Flavor) Service() gss.Service {
	switch f {
	case FlavorKrb5:
		return gss.None
	case FlavorKrb5i:
		return gss.Integrity
	case FlavorKrb5p:
		return gss.Privacy
	}
	return 0
}

// Proves reports whether callers prove who they are, by RPCSEC_GSS.
func (f Flavor) Proves() bool { return f.Service() != 0 }
