package remote

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// Kerberos gets the tickets of a command.
type Kerberos struct {
	keytab    string // "": a credential cache
	principal string // "": the first of the keytab

	once      sync.Once
	initiator *krb5.Initiator
	name      string // who calls
	err       error  // why nobody can
}

// AddFlags adds the flags that say where tickets come from.
func (k *Kerberos) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&k.keytab, "keytab", "",
		"`FILE` with a key to call with by Kerberos, in place of the tickets that kinit gets")
	f.StringVar(&k.principal, "principal", "",
		"`NAME` to call as with Kerberos; default the first in the keytab, or the owner of the tickets")
}

// clientKeytab is the environment variable that names the keytab with which MIT's programs get
// tickets if they have none.
const clientKeytab = "KRB5_CLIENT_KTNAME"

// Initiator returns the initiator of contexts. The error is an *UnprovenError if there is no ticket
// or key.
func (k *Kerberos) Initiator() (*krb5.Initiator, error) {
	k.once.Do(func() {
		k.err = k.use(k.keytab)
		if keytab := os.Getenv(clientKeytab); k.err != nil && k.keytab == "" && keytab != "" {
			k.err = k.use(keytab)
		}
		kind := NoTicket
		if status := new(gss.StatusError); errors.As(k.err, &status) && status.Err != nil {
			if status.Major == gss.CredentialsExpired {
				kind = TicketExpired
			}
			k.err = status.Err
		}
		if k.err != nil { // wrap nothing: the cause is not about a file of the server
			k.err = &UnprovenError{Kind: kind, text: k.err.Error()}
		}
	})
	return k.initiator, k.err
}

// use takes tickets that it gets with a keytab, or those of the credential cache.
func (k *Kerberos) use(keytab string) (err error) {
	k.initiator, err = krb5.NewInitiator(krb5.InitiatorConfig{Keytab: keytab, Principal: k.principal})
	if err == nil {
		k.name, err = k.initiator.Principal()
	}
	if err == nil && keytab == "" && k.principal != "" && !isPrincipal(k.name, k.principal) {
		err = fmt.Errorf("the tickets are those of %s, but --principal is %s: run kinit %[2]s, or use --keytab",
			k.name, k.principal)
	}
	return err
}

// isPrincipal reports whether name is that of a principal. name may lack the realm.
func isPrincipal(principal, name string) bool {
	return principal == name || !strings.Contains(name, "@") && strings.HasPrefix(principal, name+"@")
}

// Name is the principal that calls; "" if there are no credentials.
func (k *Kerberos) Name() string {
	if _, err := k.Initiator(); err != nil {
		return ""
	}
	return k.name
}
