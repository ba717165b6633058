package copying

import (
	"context"
	"errors"
	"io/fs"
	"path"
)

// existing returns what already has the name of a copy, or nil.
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

// A target directory is listed, in place of a LOOKUP for each file, up to leastSurveyed names and
// surveyedEach more for each file that is copied to it. Names beyond that are looked up.
const (
	leastSurveyed = 1024
	surveyedEach  = 64
)

// survey is the contents of a target directory, from one listing.
type survey struct {
	names     map[string]details
	all       bool
	temporary []details
}

// surveyOf lists a directory that at least n files are copied to.
func surveyOf(ctx context.Context, to place, name string, n int) survey {
	s := survey{names: make(map[string]details)}
	limit := leastSurveyed + n*surveyedEach
	for one, err := range to.list(ctx, name) {
		if err != nil || len(s.names) == limit {
			return s // the look-ups will report the error
		}
		s.names[one.name] = one
		if mayBeLeft(&one) {
			s.temporary = append(s.temporary, one)
		}
	}
	s.all = true
	return s
}

// tell sets in a file what has the name of its copy, if that is known.
func (s *survey) tell(f *Item) {
	there, found := s.names[path.Base(f.as)]
	if f.looked = found || s.all; found {
		f.there = &there
	}
}
