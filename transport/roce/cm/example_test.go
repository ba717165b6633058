package cm_test

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// This encodes a request for a connection to the service at port 20049, and decodes it again.
func Example() {
	req := &cm.REQ{CommID: 1, ServiceID: cm.ServiceID(20049), QP: 17, MTU: cm.MTUOf(1024)}
	mad := cm.Append(nil, req, 42)

	m, transaction, err := cm.Parse(mad)
	if err != nil {
		fmt.Println(err)
		return
	}
	if m, ok := m.(*cm.REQ); ok {
		port, _ := cm.ServicePort(m.ServiceID)
		fmt.Println(transaction, port, m.QP, m.MTU.Bytes())
	}
	// Output: 42 20049 17 1024
}
