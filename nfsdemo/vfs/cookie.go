package vfs

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"

// CheckCookie checks the arguments of ReadDir, for a file system whose cookies are valid as long as
// their directory exists: it needs no verifier. verf is that of the call, and own that of the file
// system's cookies. CheckCookie returns nil or nfs3.ErrBadCookie.
//
// RFC 1813 section 3.3.16 wants the verifier that came with the cookie. Some clients send zero
// instead, which Linux's server accepts, as it ignores verifiers. Here zero is accepted, because
// the handle tells the directory of the cookie. Any other verifier is that of another file system.
func CheckCookie(cookie uint64, verf, own nfs3.Verifier) error {
	if cookie != 0 && verf != own && verf != (nfs3.Verifier{}) {
		return nfs3.ErrBadCookie
	}
	return nil
}
