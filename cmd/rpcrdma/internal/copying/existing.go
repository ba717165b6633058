package copying

import (
	"context"
	"errors"
	"io/fs"
	"path"
)

// existing returns what has the name of a copy already, nil if nothing has.
func (c *copier) existing(ctx context.Context, f *Item) (*details, error) {
	if f.looked || f.dir != nil && f.dir.made {
		return f.there, nil
	}
	there, err := f.to.lstat(ctx, f.as)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.looked = true
	case err != nil:
		return nil, err
	default:
		f.looked, f.there = true, &there
	}
	return f.there, nil
}

// leastSurveyed is how many names a directory may have that is listed whatever is copied to it, and
// surveyedEach how many more for each file that is. In one with more, what is not listed is looked
// up.
const (
	leastSurveyed = 1024
	surveyedEach  = 64
)

// survey is what a directory has in it that is copied to, as one list tells.
type survey struct {
	names     map[string]details
	all       bool
	temporary []details
}

// surveyOf lists a directory that n files or more are copied to.
func surveyOf(ctx context.Context, to place, name string, n int) survey {
	s := survey{names: make(map[string]details)}
	limit := leastSurveyed + n*surveyedEach
	for one, err := range to.list(ctx, name) {
		if err != nil || len(s.names) == limit {
			return s // each look-up tells what is wrong
		}
		s.names[one.name] = one
		if mayBeLeft(&one) {
			s.temporary = append(s.temporary, one)
		}
	}
	s.all = true
	return s
}

// tell says of a file what has the name of its copy, if that is known.
func (s *survey) tell(f *Item) {
	there, found := s.names[path.Base(f.as)]
	if f.looked = found || s.all; found {
		f.there = &there
	}
}
