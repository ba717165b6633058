package files

import (
	"fmt"
	"io"
	"path"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// fileJSON is a file as ls and stat print it with --json (docs/json.md).
type fileJSON struct {
	URL      string      `json:"url"`
	Name     string      `json:"name"`
	Type     string      `json:"type"`
	Target   *string     `json:"target,omitempty"`
	Mode     string      `json:"mode"`
	Links    uint32      `json:"links"`
	UID      uint32      `json:"uid"`
	GID      uint32      `json:"gid"`
	User     string      `json:"user,omitempty"`
	Group    string      `json:"group,omitempty"`
	Size     uint64      `json:"size"`
	Used     uint64      `json:"used"`
	Number   *deviceJSON `json:"device_number,omitempty"`
	Device   uint64      `json:"device"`
	Inode    uint64      `json:"inode"`
	Accessed string      `json:"accessed"`
	Modified string      `json:"modified"`
	Changed  string      `json:"changed"`
}

// deviceJSON is the number of a device.
type deviceJSON struct {
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
}

// typeWords are the types of files in JSON.
var typeWords = map[nfs3.FileType]string{nfs3.TypeReg: "file", nfs3.TypeDir: "directory", nfs3.TypeBlk: "block_device",
	nfs3.TypeChr: "character_device", nfs3.TypeLnk: "link", nfs3.TypeSock: "socket", nfs3.TypeFIFO: "fifo"}

// jsonOf describes a file.
func jsonOf(url, name string, a *nfs3.Fattr, names *cli.Names) fileJSON {
	j := fileJSON{
		URL:      url,
		Name:     name,
		Type:     typeWords[a.Type],
		Mode:     fmt.Sprintf("%04o", a.Mode&modeAll),
		Links:    a.Nlink,
		UID:      a.UID,
		GID:      a.GID,
		Size:     a.Size,
		Used:     a.Used,
		Device:   a.FSID,
		Inode:    a.FileID,
		Accessed: jsonTime(a.Atime),
		Modified: jsonTime(a.Mtime),
		Changed:  jsonTime(a.Ctime),
	}
	if user := names.User(a.UID); user != decimal(a.UID) {
		j.User = user
	}
	if group := names.Group(a.GID); group != decimal(a.GID) {
		j.Group = group
	}
	if isDevice(a) {
		j.Number = &deviceJSON{a.Rdev.Major, a.Rdev.Minor}
	}
	return j
}

// jsonTime is a time as RFC 3339 has it, with all nanoseconds.
func jsonTime(t nfs3.Time) string {
	return t.Time().UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
}

// printJSON prints files, one per line. It returns an error only if the command must end.
func (l *listing) printJSON(lines []line) error {
	errs := remote.AtOnce(len(lines), func(i int) (err error) {
		if n := &lines[i]; n.Attr.Type == nfs3.TypeLnk {
			n.target, err = n.remote.Client.ReadLink(l.Ctx(), n.File)
		}
		return err
	})
	for i := range lines {
		n := &lines[i]
		j := jsonOf(n.url(), n.Name, &n.Attr, &l.names)
		if n.dir == "" {
			j.Name = lastName(n.Name)
		}
		if errs[i] != nil {
			if err := l.report(n.url(), errs[i]); err != nil {
				return err
			}
		} else if n.Attr.Type == nfs3.TypeLnk {
			j.Target = &n.target
		}
		if err := cli.WriteJSON(l.out, j); err != nil {
			return err
		}
	}
	return l.Fail("", nil)
}

// lastName is the last name in a URL, "/" if it has none.
func lastName(url string) string {
	t, err := reach.ParseTarget(url)
	if err != nil { // which has been parsed before
		return url
	}
	return path.Base(t.Path)
}

// exportJSON is a directory that a server exports.
type exportJSON struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	Type string `json:"type"`
}

// dfJSON is a file system as df prints it with --json.
type dfJSON struct {
	URL            string `json:"url"`
	TotalBytes     uint64 `json:"total_bytes"`
	UsedBytes      uint64 `json:"used_bytes"`
	FreeBytes      uint64 `json:"free_bytes"`
	AvailableBytes uint64 `json:"available_bytes"`
	TotalFiles     uint64 `json:"total_files"`
	FreeFiles      uint64 `json:"free_files"`
	AvailableFiles uint64 `json:"available_files"`
}

// writeDF prints a file system.
func writeDF(w io.Writer, url string, s *nfs3.FSStat) error {
	return cli.WriteJSON(w, dfJSON{
		URL:            url,
		TotalBytes:     s.TotalBytes,
		UsedBytes:      s.TotalBytes - min(s.FreeBytes, s.TotalBytes),
		FreeBytes:      s.FreeBytes,
		AvailableBytes: s.AvailBytes,
		TotalFiles:     s.TotalFiles,
		FreeFiles:      s.FreeFiles,
		AvailableFiles: s.AvailFiles,
	})
}
