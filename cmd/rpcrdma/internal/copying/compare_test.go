package copying

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// text is an open file with a text, behind which reading may fail.
type text struct {
	content // nil
	text    string
	err     error
}

func (x text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, x.text)
	if err == nil {
		err = x.err
	}
	return int64(n), err
}

// TestCommon: two files have a beginning in common. An error counts only if it comes before the
// difference.
func TestCommon(t *testing.T) {
	long := strings.Repeat("x", 2*compared)
	bad := errors.New("bad")
	for _, tt := range []struct {
		name    string
		a, b    text
		most    int64
		want    int64
		wantErr error
	}{
		{"both empty", text{}, text{}, 10, 0, nil},
		{"one empty", text{}, text{text: "abc"}, 10, 0, nil},
		{"equal", text{text: "abc"}, text{text: "abc"}, 10, 3, nil},
		{"equal up to most", text{text: "abcd"}, text{text: "abce"}, 3, 3, nil},
		{"the first differs", text{text: "abc"}, text{text: "xbc"}, 10, 0, nil},
		{"the last differs", text{text: "abc"}, text{text: "abx"}, 10, 2, nil},
		{"one longer", text{text: "abc"}, text{text: "abcd"}, 10, 3, nil},
		{"equal and long", text{text: long}, text{text: long}, 1 << 30, 2 * compared, nil},
		{"long, and the last differs", text{text: long + "a"}, text{text: long + "b"}, 1 << 30,
			2 * compared, nil},
		{"long, and one longer", text{text: long}, text{text: long + "x"}, 1 << 30, 2 * compared, nil},
		{"an error in one", text{nil, "abc", bad}, text{text: "abc"}, 10, 0, bad},
		{"an error in the other", text{text: "abc"}, text{nil, "abc", bad}, 10, 0, bad},
		{"an error later", text{nil, long, bad}, text{text: long}, 1 << 30, 2 * compared, bad},
		{"an error behind a difference", text{nil, "a" + long, bad}, text{text: "b" + long}, 1 << 30, 0, nil},
	} {
		got, err := common(tt.a, tt.b, "a", "b", tt.most)
		if got != tt.want || !errors.Is(err, tt.wantErr) {
			t.Errorf("%s: got %d, %v, want %d, %v", tt.name, got, err, tt.want, tt.wantErr)
		}
	}
}
