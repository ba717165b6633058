// Package vfstest is the conformance suite of file systems: what NFS clients rely on,
// and what package vfs promises to the server. Every file system passes the same one.
//
// It leaves room for what differs between file systems that are kept by an operating system: times
// of changes may be as coarse as its clock's ticks, times of reading may not be kept, sizes of
// directories mean nothing, and directories may not count their links. A file system that keeps to
// more than that says so in tests of its own.
package vfstest

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Run runs the suite. newFS returns an empty file system whose root directory belongs to user 0
// and has mode 0755; it must have room for some 64 MiB, and be able to give files to any user.
func Run(t *testing.T, newFS func(testing.TB) vfs.FS) {
	for _, tt := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Root", testRoot},
		{"Handles", testHandles},
		{"Stale", testStale},
		{"WrongKind", testWrongKind},
		{"Names", testNames},
		{"GoodNames", testGoodNames},
		{"Lookup", testLookup},
		{"Create", testCreate},
		{"CreateExisting", testCreateExisting},
		{"Exclusive", testExclusive},
		{"Mkdir", testMkdir},
		{"SetGIDDirectory", testSetGIDDirectory},
		{"Symlink", testSymlink},
		{"Mknod", testMknod},
		{"Remove", testRemove},
		{"RemoveLinked", testRemoveLinked},
		{"RemoveLeased", testRemoveLeased},
		{"RemoveWriting", testRemoveWriting},
		{"Rmdir", testRmdir},
		{"RenameKinds", testRenameKinds},
		{"RenameMoves", testRenameMoves},
		{"RenameSame", testRenameSame},
		{"RenameLoop", testRenameLoop},
		{"Deep", testDeep},
		{"Link", testLink},
		{"LinkBesideRemove", testLinkBesideRemove},
		{"ModelTree", testModelTree},
		{"ConcurrentTree", testConcurrentTree},
		{"ReadWrite", testReadWrite},
		{"ReadEdges", testReadEdges},
		{"Sparse", testSparse},
		{"WriteLimits", testWriteLimits},
		{"WriteFetch", testWriteFetch},
		{"WriteMeanwhile", testWriteMeanwhile},
		{"ModelData", testModelData},
		{"ConcurrentData", testConcurrentData},
		{"Snapshot", testSnapshot},
		{"SetAttr", testSetAttr},
		{"SetAttrAtOnce", testSetAttrAtOnce},
		{"Truncate", testTruncate},
		{"Times", testTimes},
		{"Wcc", testWcc},
		{"WccFailed", testWccFailed},
		{"SetID", testSetID},
		{"SetIDCases", testSetIDCases},
		{"Permissions", testPermissions},
		{"NamePermissions", testNamePermissions},
		{"SearchPermission", testSearchPermission},
		{"MovePermissions", testMovePermissions},
		{"Sticky", testSticky},
		{"Access", testAccess},
		{"AccessKinds", testAccessKinds},
		{"ReadDir", testReadDir},
		{"ReadDirPlain", testReadDirPlain},
		{"ReadDirEdges", testReadDirEdges},
		{"ReadDirChanging", testReadDirChanging},
		{"ReadDirRemoving", testReadDirRemoving},
		{"ReadDirBeside", testReadDirBeside},
		{"StatFS", testStatFS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run(&fixture{T: t, fs: newFS(t), ctx: t.Context()})
		})
	}
}
