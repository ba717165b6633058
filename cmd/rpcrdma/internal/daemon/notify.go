package daemon

import (
	"log/slog"
	"net"
	"os"
)

// Status is what systemd learns of a service of Type=notify, in the words of sd_notify(3).
type Status string

// A server is ready when its ports are open and its exports are there. After Reloading, it is again
// when what it has read again holds.
const (
	Ready     Status = "READY=1"
	Reloading Status = "RELOADING=1"
	Stopping  Status = "STOPPING=1"
)

// notifySocket is the variable by which systemd names the socket to tell it at.
const notifySocket = "NOTIFY_SOCKET"

// Notify tells systemd the status of this process, if systemd has started it and wants to know.
//
// There is no watchdog: what may hang is a disk below an export, and a restart would not mend that.
func Notify(log *slog.Logger, s Status) {
	name := os.Getenv(notifySocket) // one that begins with @ is abstract: package net knows that
	if name == "" {
		return
	}
	if err := notify(name, s); err != nil {
		log.Warn("systemd does not learn the status", "status", string(s), "err", err)
	}
}

// notify sends a datagram. The socket's buffer is systemd's to empty, so it may take a moment.
func notify(name string, s Status) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(s))
	return err
}
