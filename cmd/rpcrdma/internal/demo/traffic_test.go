package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

func TestTraffic(t *testing.T) {
	tr := newTraffic()
	for _, c := range []rpcrdma.CallInfo{
		{Program: 100003, Version: 3, Procedure: 7, InlineSent: 100, InlineReceived: 60, ReadChunk: 4096, Credits: 1},
		{Program: 100003, Version: 3, Procedure: 7, InlineSent: 100, InlineReceived: 60, ReadChunk: 1, Credits: 5},
		{Program: 100003, Version: 3, Procedure: 6, InlineSent: 90, InlineReceived: 70, WriteChunk: 4096, Credits: 3},
		{Program: 100003, Version: 3, Procedure: 17, InlineSent: 80, ReplyChunk: 30000, Credits: 1},
		{Program: 100005, Version: 3, Procedure: 1, InlineSent: 40, InlineReceived: 50, Credits: 1},
		{Program: 100003, Version: 4, Procedure: 1, Credits: 2},
	} {
		tr.CallDone(&c)
	}
	var out strings.Builder
	tr.print(&out, rpcrdma.RFC8166)
	want := `
    procedure  calls  inline sent  inline received  read chunk  write chunk  reply chunk  credits
          MNT      1           40               50           0            0            0        1
   100003.4.1      1            0                0           0            0            0        2
         READ      1           90               70           0         4096            0        3
        WRITE      2          200              120        4097            0            0        5
  READDIRPLUS      1           80                0           0            0        30000        1
          all      6          410              240        4097         4096        30000        5
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
		t.Error(diff)
	}
}
