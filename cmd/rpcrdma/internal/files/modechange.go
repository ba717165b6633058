package files

import (
	"errors"
	"strconv"
	"strings"
)

// Bits of a mode that belong together.
const (
	modeAll   = 0o7777
	modeSetID = 0o6000
)

// modeChange is a MODE of chmod: a number, or clauses such as u+x,go-w.
type modeChange []modeStep

// modeStep is one operator with its two sides.
type modeStep struct {
	who  uint32 // bits that it may change; 0: nobody is named, so the umask applies
	op   byte   // '+', '-' or '='
	bits uint32 // for everybody
	x    bool   // X: execute, if it is a directory, or somebody may execute it
	from uint32 // the bits of u, g or o, to copy; 0: none
	says uint32 // set-ID bits that the change names, even for a directory
}

var errMode = errors.New("write a mode such as 644, u+x or go=rX")

// whos are the bits that each letter of u, g, o and a stands for.
var whos = map[byte]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': modeAll}

// parseModeChange parses a MODE of chmod.
func parseModeChange(s string) (modeChange, error) {
	if s != "" && strings.Trim(s, "01234567") == "" {
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil || n > modeAll {
			return nil, errMode
		}
		step := modeStep{who: modeAll, op: '=', bits: uint32(n), says: uint32(n)}
		if len(s) > 4 { // 00755 removes set-ID from directories, too
			step.says = modeSetID
		}
		return modeChange{step}, nil
	}
	var m modeChange
	for clause := range strings.SplitSeq(s, ",") {
		steps, err := parseClause(clause)
		if err != nil {
			return nil, err
		}
		m = append(m, steps...)
	}
	return m, nil
}

// parseClause parses one clause of a MODE.
func parseClause(s string) (modeChange, error) {
	who := uint32(0)
	for ; s != "" && whos[s[0]] != 0; s = s[1:] {
		who |= whos[s[0]]
	}
	if s == "" {
		return nil, errMode
	}
	var m modeChange
	for s != "" {
		if !strings.Contains("+-=", s[:1]) {
			return nil, errMode
		}
		step := modeStep{who: who, op: s[0]}
		n := strings.IndexAny(s[1:], "+-=") + 1
		if n == 0 {
			n = len(s)
		}
		if err := step.what(s[1:n]); err != nil {
			return nil, err
		}
		m, s = append(m, step), s[n:]
	}
	return m, nil
}

// what parses the right side of an operator.
func (p *modeStep) what(s string) error {
	if len(s) == 1 && strings.Contains("ugo", s) {
		p.from = whos[s[0]] & 0o777
		return nil
	}
	for i := range len(s) {
		switch s[i] {
		case 'r':
			p.bits |= 0o444
		case 'w':
			p.bits |= 0o222
		case 'x':
			p.bits |= 0o111
		case 'X':
			p.x = true
		case 's':
			p.bits |= modeSetID
		case 't':
			p.bits |= 0o1000
		default:
			return errMode
		}
	}
	p.says = p.bits
	if p.who != 0 {
		p.says &= p.who
	}
	return nil
}

// apply returns the changed mode of a file. A change that names nobody is for all, less the umask.
// A directory keeps its set-ID bits unless the change names them.
func (m modeChange) apply(mode uint32, dir bool, umask uint32) uint32 {
	mode &= modeAll
	for _, p := range m {
		bits := p.bits
		if p.x && (dir || mode&0o111 != 0) {
			bits |= 0o111
		}
		if p.from != 0 {
			bits = spread(mode & p.from)
		}
		kept := uint32(0) // whatever the change says
		if dir {
			kept = modeSetID &^ p.says
		}
		if p.who != 0 {
			bits &= p.who
		} else {
			bits &^= umask
		}
		bits &^= kept
		switch p.op {
		case '+':
			mode |= bits
		case '-':
			mode &^= bits
		case '=':
			if p.who != 0 {
				kept |= modeAll &^ p.who
			}
			mode = mode&kept | bits
		}
	}
	return mode
}

// spread copies the bits of one class to all classes.
func spread(bits uint32) uint32 {
	all := uint32(0)
	for _, b := range []uint32{0o444, 0o222, 0o111} {
		if bits&b != 0 {
			all |= b
		}
	}
	return all
}
