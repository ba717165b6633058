// Package probe is the commands that examine a server. Ping calls it, conf asks it for CONF_RDMA,
// and probe takes the steps of a mount: where one fails, it names the cause and says what to do.
//
//	p, err := probe.NewProber(probe.NewFlags(), target, os.Stdout)
//	err = p.Run(ctx) // cli.ErrReported if a step fails
package probe
