package metrics

import (
	"reflect"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// TestTables: every counter of a layer is exported as one metric.
func TestTables(t *testing.T) {
	for _, tt := range []struct {
		values any
		rows   []row
	}{
		{iwarp.Stats{}, iwarpRows},
		{sctp.Stats{}, sctpRows},
		{roce.Stats{}, roceRows},
		{rpcrdma.Totals{}, rdmaRows},
		{recordmark.Stats{}, tcpRows},
		{redial.Stats{}, redialRows},
		{oncrpc.ServerStats{}, serverRows},
		{nfsserver.Stats{}, nfsRows},
		{gss.ServerStats{}, gssRows},
		{gateway.Stats{}, gatewayRows},
	} {
		var fields []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(tt.values)) {
			if !f.Anonymous && f.Name != "Conns" || f.Type.Kind() != reflect.Map && !f.Anonymous {
				fields = append(fields, f.Name)
			}
		}
		var rows []string
		for _, r := range tt.rows {
			rows = append(rows, r.field)
		}
		slices.Sort(fields)
		slices.Sort(rows)
		if !slices.Equal(fields, rows) {
			t.Errorf("%T has the fields\n%v, the table has\n%v", tt.values, fields, rows)
		}
	}
}
