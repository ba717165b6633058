package krb5

// Conf gives tests access to krb5.conf: the realm of a host, values of libdefaults, and the KDCs of
// a realm.
type Conf struct{ p *profile }

func ReadConf(paths ...string) (Conf, error) {
	p, err := readProfile(paths)
	return Conf{p}, err
}

func (c Conf) RealmOf(host string) string        { return c.p.realmOf(host) }
func (c Conf) Lib(name string) string            { return c.p.lib(name) }
func (c Conf) KDCs(realm string) []string        { return c.p.realms[realm]["kdc"] }
func (c Conf) Flag(name string, other bool) bool { return c.p.flag(name, other) }

// Permitted parses a value of permitted_enctypes.
func Permitted(value string) []string {
	var names []string
	for _, id := range permitted(value) {
		names = append(names, id.String())
	}
	return names
}

// ParseCache returns the client of a credential cache and the number of its tickets.
func ParseCache(b []byte) (client string, tickets int, err error) {
	c, err := parseCache(b)
	if err != nil {
		return "", 0, err
	}
	return c.client.String(), len(c.tickets), nil
}

// ParsePrincipal parses a principal and formats it again.
func ParsePrincipal(s string) (string, error) {
	p, err := parsePrincipal(s)
	return p.String(), err
}

// WithPort returns the address of a KDC named in krb5.conf.
var WithPort = withPort
