package rpcbind

import "context"

// DialFirst dials the first of endpoints, pairs of a network and an address, that can be reached.
func DialFirst(ctx context.Context, endpoints ...[2]string) (*Client, error) {
	var list []endpoint
	for _, e := range endpoints {
		list = append(list, endpoint{e[0], e[1]})
	}
	return dial(ctx, list)
}
