package krb5

import "context"

// Principal returns who calls services, as the credential cache or the keytab says. The error is
// that there is no ticket that is good, or no key. No KDC is asked.
func (i *Initiator) Principal() (string, error) {
	if i.cfg.Keytab != "" {
		client, _, err := i.keys()
		return client.String(), err
	}
	tgt, _, err := i.credentials(context.Background()) // which asks nobody but for a keytab
	if err != nil {
		return "", err
	}
	if !tgt.usable(i.cfg.Now()) {
		return "", i.expired(tgt)
	}
	return tgt.client.String(), nil
}
