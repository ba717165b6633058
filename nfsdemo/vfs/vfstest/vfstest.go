// Package vfstest is the conformance suite of file systems. It tests what NFS clients rely on, and
// the contract of package vfs:
//
//	func TestFS(t *testing.T) {
//		vfstest.Run(t, func(tb testing.TB) vfs.FS { return newFS(tb) })
//	}
//
// The suite allows what file systems of an operating system differ in. Times of changes may be as
// coarse as the clock's ticks. Access times need not be kept. Sizes of directories mean nothing,
// and directories need not count their links. A file system that promises more tests that itself.
package vfstest

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Run runs the suite. newFS returns an empty file system, whose root directory belongs to user 0
// and has mode 0755. The file system must have room for about 64 MiB, and must be able to give
// files to any user.
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
