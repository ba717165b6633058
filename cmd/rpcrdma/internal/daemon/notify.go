package daemon

import (
	"log/slog"
	"net"
	"os"
)

// Status is a status of a service of Type=notify, in the words of sd_notify(3).
type Status string

// A server is Ready when its ports are open and its exports exist. After Reloading it is Ready
// again when the new exports apply.
const (
	Ready     Status = "READY=1"
	Reloading Status = "RELOADING=1"
	Stopping  Status = "STOPPING=1"
)

// notifySocket is the environment variable with the name of systemd's socket.
const notifySocket = "NOTIFY_SOCKET"

// Notify tells systemd the status of this process, if systemd has started it with Type=notify.
//
// There is no watchdog: the part that may hang is a disk below an export, and a restart would not
// help.
func Notify(log *slog.Logger, s Status) {
	name := os.Getenv(notifySocket) // one that begins with @ is abstract: package net knows that
	if name == "" {
		return
	}
	if err := notify(name, s); err != nil {
		log.Warn("cannot tell systemd the status", "status", string(s), "err", err)
	}
}

// notify sends a datagram. It blocks while the buffer of systemd's socket is full.
func notify(name string, s Status) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(s))
	return err
}
