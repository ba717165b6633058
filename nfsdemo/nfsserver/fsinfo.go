package nfsserver

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Preferred multiple of transfers, and preferred size of a READDIR, in bytes.
const (
	transferMultiple = 4096
	dirTransfer      = 64 << 10
)

func (s *Server) fsStat(ctx context.Context, _ *request, a *nfs3.FSStatArgs, r *nfs3.FSStatRes) error {
	fs, err := s.fs(&a.Root)
	if err == nil {
		r.FSStat, r.Attr, err = fs.StatFS(ctx, a.Root)
	}
	return err
}

func (s *Server) fsInfo(ctx context.Context, _ *request, a *nfs3.FSInfoArgs, r *nfs3.FSInfoRes) error {
	fs, err := s.fs(&a.Root)
	if err != nil {
		return err
	}
	attr, err := fs.GetAttr(ctx, a.Root)
	if err != nil {
		return err
	}
	info := fs.Info()
	r.Attr = nfs3.Attrs(attr)
	r.FSInfo = nfs3.FSInfo{
		RtMax: s.maxRead, RtPref: s.maxRead, RtMult: transferMultiple,
		WtMax: s.maxWrite, WtPref: s.maxWrite, WtMult: transferMultiple,
		DtPref:      min(s.maxRead, dirTransfer),
		MaxFileSize: info.MaxFileSize,
		TimeDelta:   info.TimeDelta,
		Properties:  info.Properties,
	}
	return nil
}

func (s *Server) pathConf(ctx context.Context, _ *request, a *nfs3.PathConfArgs, r *nfs3.PathConfRes) error {
	fs, err := s.fs(&a.File)
	if err != nil {
		return err
	}
	attr, err := fs.GetAttr(ctx, a.File)
	r.Attr, r.PathConf = nfs3.Attrs(attr), fs.Info().PathConf
	r.Attr.Present = err == nil
	return err
}
