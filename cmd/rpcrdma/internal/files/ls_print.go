package files

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// line is a file to list.
type line struct {
	remote.Entry
	remote *remote.Export
	dir    string // the URL of the directory; "": the name is a URL
	target string // of a link
	unseen bool   // only the name is known
}

// url is the URL of the file.
func (n *line) url() string {
	if n.dir == "" {
		return n.Name
	}
	return reach.ChildURL(n.dir, n.Name)
}

// title prints the URL above what is in a directory.
func (l *listing) title(url string) {
	if !l.titles || l.json {
		return
	}
	if l.printed {
		fmt.Fprintln(l.out)
	}
	fmt.Fprintf(l.out, "%s:\n", l.shown(url))
	l.printed = true
}

// shown returns a name as it is printed.
func (l *listing) shown(name string) string {
	if l.quote {
		return cli.Printable(name)
	}
	return name
}

func (l *listing) sort(lines []line) {
	if !l.unsorted {
		slices.SortFunc(lines, func(a, b line) int {
			order := 0
			switch {
			case l.byTime:
				order = cmp.Compare(b.Attr.Mtime.Nanos(), a.Attr.Mtime.Nanos())
			case l.bySize:
				order = cmp.Compare(b.Attr.Size, a.Attr.Size)
			}
			return cmp.Or(order, cmp.Compare(a.Name, b.Name))
		})
	}
	if l.reverse {
		slices.Reverse(lines)
	}
}

// print prints files. It returns an error only if the command must end.
func (l *listing) print(lines []line) error {
	l.sort(lines)
	l.printed = l.printed || len(lines) > 0
	if l.json {
		return l.printJSON(lines)
	}
	if l.long {
		return l.printLong(lines)
	}
	for _, n := range lines {
		fmt.Fprintln(l.out, l.shown(n.Name))
	}
	return l.Fail("", nil)
}

// printLong prints lines with columns as wide as they need to be.
func (l *listing) printLong(lines []line) error {
	const columns = 4 // from links to size
	rows := make([][columns]string, len(lines))
	var widths [columns]int
	for i, n := range lines {
		user, group := decimal(n.Attr.UID), decimal(n.Attr.GID)
		if !l.numeric {
			user, group = l.names.User(n.Attr.UID), l.names.Group(n.Attr.GID)
		}
		rows[i] = [columns]string{decimal(n.Attr.Nlink), user, group, l.size(&n.Attr)}
		if n.unseen {
			rows[i] = [columns]string{"?", "?", "?", "?"}
		}
		for c, s := range rows[i] {
			widths[c] = max(widths[c], utf8.RuneCountInString(s))
		}
	}
	if !l.numeric { // align names to the left
		widths[1], widths[2] = -widths[1], -widths[2]
	}
	errs := remote.AtOnce(len(lines), func(i int) (err error) {
		if n := &lines[i]; n.Attr.Type == nfs3.TypeLnk {
			n.target, err = n.remote.Client.ReadLink(l.Ctx(), n.File)
		}
		return err
	})
	for i, n := range lines {
		name := l.shown(n.Name)
		if err := errs[i]; err != nil {
			if err := l.report(n.url(), err); err != nil {
				return err
			}
		} else if n.Attr.Type == nfs3.TypeLnk {
			name += " -> " + l.shown(n.target)
		}
		r := rows[i]
		mode, at := modeText(n.Attr.Type, n.Attr.Mode), n.Attr.Mtime.Time().Format("2006-01-02 15:04:05")
		if n.unseen {
			mode, at = "??????????", fmt.Sprintf("%*s", len(at), "?")
		}
		fmt.Fprintf(l.out, "%s %*s %*s %*s %*s %s %s\n", mode,
			widths[0], r[0], widths[1], r[1], widths[2], r[2], widths[3], r[3], at, name)
	}
	return l.Fail("", nil)
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// size returns the size, or the numbers of a device.
func (l *listing) size(a *nfs3.Fattr) string {
	switch {
	case isDevice(a):
		return decimal(a.Rdev.Major) + ", " + decimal(a.Rdev.Minor)
	case l.human:
		return cli.HumanSize(a.Size)
	}
	return strconv.FormatUint(a.Size, 10)
}

// total returns the space that files take on the server, in KiB.
func (l *listing) total(bytes uint64) string {
	if l.human {
		return cli.HumanSize(bytes)
	}
	return strconv.FormatUint(bytes/1024, 10)
}
