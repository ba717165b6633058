package serve

import (
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// secFlag is --sec: the flavours that calls may have, the preferred first.
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

// Words are the names that completion offers.
func (f *secFlag) Words() []string { return []string{"sys", "krb5", "krb5i", "krb5p"} }

// secureByDefault applies --sec to rules of a file without sec=.
func (c *Config) secureByDefault(rules []nfsserver.Rule) {
	for i := range rules {
		if len(rules[i].Flavors) == 0 {
			rules[i].Flavors = c.sec
		}
	}
}

// checkRule refuses flags for the exports of the command line if there are none. Their user would
// expect them to apply to the file.
func (c *Config) checkRule(changed func(flag string) bool) error {
	if c.exportsFile == "" || len(c.Exports) > 0 {
		return nil
	}
	for _, f := range []struct{ flag, option string }{
		{"read-only", "ro"}, {"squash", "root_squash, all_squash or no_root_squash"},
		{"anonuid", "anonuid=UID"}, {"anongid", "anongid=GID"},
	} {
		if changed(f.flag) && (f.flag != "read-only" || c.readOnly) {
			return fmt.Errorf("--%s is for exports of the command line, but there are none: leave it out, "+
				"and write %s in %s", f.flag, f.option, cli.Printable(c.exportsFile))
		}
	}
	return nil
}

// proven returns the name of an export with a Kerberos flavour; "" means none.
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
