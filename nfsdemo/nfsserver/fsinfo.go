package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Sizes in bytes: the preferred multiple of transfers, and the preferred and the largest size of a
// READDIR. The entries of a READDIR take several times more memory before they are encoded.
const (
	transferMultiple = 4096
	dirTransfer      = 64 << 10
	maxDir           = 128 << 10
)

func fsStat(ctx context.Context, q *request, a *nfs3.FSStatArgs, r *nfs3.FSStatRes) error {
	fs, err := q.fs(&a.Root)
	if err == nil {
		r.FSStat, r.Attr, err = fs.StatFS(ctx, a.Root)
	}
	return err
}

func fsInfo(ctx context.Context, q *request, a *nfs3.FSInfoArgs, r *nfs3.FSInfoRes) error {
	fs, err := q.rootFS(&a.Root)
	if err != nil {
		return err
	}
	attr, err := fs.GetAttr(ctx, a.Root)
	if err != nil {
		return err
	}
	info := fs.Info()
	r.Attr = nfs3.PostOpAttrOf(attr)
	r.FSInfo = nfs3.FSInfo{
		RtMax: q.server.maxRead, RtPref: q.server.maxRead, RtMult: transferMultiple,
		WtMax: q.server.maxWrite, WtPref: q.server.maxWrite, WtMult: transferMultiple,
		DtPref:      min(q.server.maxRead, dirTransfer),
		MaxFileSize: info.MaxFileSize,
		TimeDelta:   info.TimeDelta,
		Properties:  info.Properties,
	}
	return nil
}

func pathConf(ctx context.Context, q *request, a *nfs3.PathConfArgs, r *nfs3.PathConfRes) error {
	fs, err := q.fs(&a.File)
	if err != nil {
		return err
	}
	attr, err := fs.GetAttr(ctx, a.File)
	r.Attr, r.PathConf = nfs3.PostOpAttrOf(attr), fs.Info().PathConf
	r.Attr.Present = err == nil
	return err
}
