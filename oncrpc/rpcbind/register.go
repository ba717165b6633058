package rpcbind

import (
	"context"
	"errors"
	"slices"
	"time"
)

// takeBackTime is how long Register may take, after a failure, to remove what it has registered.
const takeBackTime = 5 * time.Second

// Registration is a set of mappings that this process has registered.
type Registration struct {
	c   *Client
	set []Mapping
}

// Register registers mappings, all or none. Earlier ones of the same programs, versions and netids,
// as a server leaves them that was killed, are removed first, if the server allows that. The error
// wraps ErrRefused if a mapping is another user's. After a failure what was registered is removed,
// for 5 s at most even if ctx has ended.
func Register(ctx context.Context, c *Client, mappings []Mapping) (*Registration, error) {
	r := &Registration{c: c}
	for _, m := range mappings {
		// What this is refused for is refused to Set, too, unless there was nothing to remove.
		err := c.Unset(ctx, m)
		if err == nil || errors.Is(err, ErrRefused) {
			err = c.Set(ctx, m)
		}
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				r.set = append(r.set, m) // which may have been done
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
			defer cancel()
			return nil, errors.Join(err, r.Unregister(ctx))
		}
		r.set = append(r.set, m)
	}
	return r, nil
}

// Mappings returns what is registered.
func (r *Registration) Mappings() []Mapping { return slices.Clone(r.set) }

// Unregister removes what was registered and is still there: a mapping that another server has
// replaced meanwhile stays. Once it has succeeded, to call it again does nothing. It must not be
// called concurrently.
func (r *Registration) Unregister(ctx context.Context) error {
	if len(r.set) == 0 {
		return nil
	}
	there, err := r.c.Dump(ctx)
	if err != nil {
		return err
	}
	var errs []error
	r.set = slices.DeleteFunc(r.set, func(m Mapping) bool {
		if !slices.ContainsFunc(there, m.same) {
			return true
		}
		err := r.c.Unset(ctx, m)
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	})
	return errors.Join(errs...)
}

// same reports whether x is the same mapping, whoever owns it.
func (m Mapping) same(x Mapping) bool {
	return m.Program == x.Program && m.Version == x.Version && m.Netid == x.Netid && m.Addr == x.Addr
}
