package exports

import (
	"bufio"
	"fmt"
	"io"
)

// maxWord is the longest word in bytes.
const maxWord = 1 << 16

// word is a word of a file, without quotes and escapes.
type word struct {
	text string
	line int // where it begins
}

// reader reads words as exportfs does, character by character. A backslash before a newline goes on
// with the line between words and inside them, but not in comments.
type reader struct {
	in   *bufio.Reader
	c    int // the character at hand
	line int // of c
	err  error
}

// end is the character after the last one.
const end = -1

func newReader(in io.Reader) *reader {
	r := &reader{in: bufio.NewReader(in), line: 1}
	r.advance()
	return r
}

// advance goes to the next character. A backslash, a newline, and the blanks after it are a space.
func (r *reader) advance() {
	if r.c == '\n' {
		r.line++
	}
	r.c = r.read()
	if r.c != '\\' || r.peek() != '\n' {
		return
	}
	r.read()
	r.line++
	for r.peek() == ' ' || r.peek() == '\t' {
		r.read()
	}
	r.c = ' '
}

// read returns the next byte as it is in the file.
func (r *reader) read() int {
	b, err := r.in.ReadByte()
	if err != nil {
		return r.ended(err)
	}
	return int(b)
}

// peek returns what read returns next.
func (r *reader) peek() int {
	b, err := r.in.Peek(1)
	if err != nil {
		return r.ended(err)
	}
	return int(b[0])
}

// ended keeps the error with which in ended, which in may return only once.
func (r *reader) ended(err error) int {
	if err != io.EOF {
		r.err = err
	}
	return end
}

// entry returns the words up to the end of a line.
func (r *reader) entry() (words []word, err error) {
	for r.c != '\n' && r.c != end {
		switch {
		case r.blank():
			r.advance()
		case r.c == '#':
			for r.c != '\n' && r.c != end {
				r.c = r.read()
			}
		default:
			w, err := r.word()
			if err != nil {
				return nil, &Error{w.line, err}
			}
			words = append(words, w)
		}
	}
	r.advance()
	return words, nil
}

// blank reports whether the character at hand ends a word. A carriage return does so before the end
// of a line.
func (r *reader) blank() bool {
	return r.c == ' ' || r.c == '\t' || r.c == '\r' && (r.peek() == '\n' || r.peek() == end)
}

// word returns the word that begins with the character at hand. It may have quoted parts, and \ooo
// for a byte in octal.
func (r *reader) word() (w word, err error) {
	w.line = r.line
	var text []byte
	quoted := false
	for {
		switch {
		case r.c == end, r.c == '\n', r.blank() && !quoted:
			switch {
			case quoted:
				return w, fmt.Errorf("quotes are not closed")
			case len(text) == 0:
				return w, fmt.Errorf("there is nothing in the quotes")
			}
			w.text = string(text)
			return w, nil
		case r.c == '"':
			quoted = !quoted
		case !quoted && (r.c == '\r' || r.c == '\v' || r.c == '\f'):
			// exportfs ends the entry there.
			return w, fmt.Errorf("there is the control character %q outside of quotes", rune(r.c))
		default:
			text = unescape(append(text, byte(r.c)))
			if text[len(text)-1] == 0 {
				return w, fmt.Errorf("there is a NUL byte")
			}
			if len(text) > maxWord {
				return w, fmt.Errorf("a word is longer than %d bytes", maxWord)
			}
		}
		r.advance()
	}
}

// unescape replaces \ooo at the end of a text, if that is a byte in octal.
func unescape(text []byte) []byte {
	i := len(text) - 4
	if i < 0 || text[i] != '\\' || text[i+1] > '3' {
		return text
	}
	n := byte(0)
	for _, c := range text[i+1:] {
		if c < '0' || c > '7' {
			return text
		}
		n = n<<3 | (c - '0')
	}
	return append(text[:i], n)
}
