package rpcbind

import (
	"context"
	"errors"
	"slices"
	"time"
)

// takeBackTime is how long Register may take to undo its work after a failure.
const takeBackTime = 5 * time.Second

// Registration is a set of mappings that this process has registered.
type Registration struct {
	c   *Client
	set []Mapping
}

// Register registers mappings, all or none. First it removes earlier mappings of the same programs,
// versions and netids, such as a killed server leaves behind, if the rpcbind allows that. The error
// wraps ErrRefused if another user owns a mapping. After a failure, Register removes what it has
// registered, for at most 5 s, even if ctx has ended.
func Register(ctx context.Context, c *Client, mappings []Mapping) (*Registration, error) {
	r := &Registration{c: c}
	for _, m := range mappings {
		// Ignore a refusal: if it matters, Set is refused, too.
		err := c.Unset(ctx, m)
		if err == nil || errors.Is(err, ErrRefused) {
			err = c.Set(ctx, m)
		}
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				r.set = append(r.set, m) // it may have been registered
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
			defer cancel()
			return nil, errors.Join(err, r.Unregister(ctx))
		}
		r.set = append(r.set, m)
	}
	return r, nil
}

// Mappings returns the registered mappings.
func (r *Registration) Mappings() []Mapping { return slices.Clone(r.set) }

// Unregister removes the mappings that are still registered. It does not touch a mapping that
// another server has replaced. After success, further calls do nothing. It is not safe for
// concurrent use.
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
