package serve

import (
	"slices"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// secFlag is the flavours that calls may have, the preferred first.
type secFlag []mount3.Flavor

// Set takes names with colons between them.
func (f *secFlag) Set(s string) error {
	flavors, err := mount3.ParseFlavors(s)
	if err != nil {
		return err
	}
	*f = flavors
	return nil
}

// String returns the names.
func (f *secFlag) String() string { return mount3.FormatFlavors(*f) }

// Type names the value in the usage.
func (f *secFlag) Type() string { return "LIST" }

// Words are the names that a list begins with.
func (f *secFlag) Words() []string { return []string{"sys", "krb5", "krb5i", "krb5p"} }

// proven returns the name of an export whose callers are to prove who they are; "" means none.
func proven(all []Export) string {
	for _, e := range all {
		if slices.ContainsFunc(e.Rules, ruleProves) {
			return e.Name
		}
	}
	return ""
}

func ruleProves(r nfsserver.Rule) bool {
	return slices.ContainsFunc(r.Flavors, mount3.Flavor.Proves)
}
