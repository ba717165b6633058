// Package daemon is what the commands share that run until they are stopped, serve and gateway:
// the log, metrics and profiles over HTTP, --config, messages to systemd, and the limits on who may
// connect, and how often.
//
//	log, end := logging.Start(os.Stderr)
//	defer end()
//	l, err := daemon.NewAllowed(networks, log).Listen(ctx, ":2049")
//	daemon.Notify(log, daemon.Ready)
package daemon
