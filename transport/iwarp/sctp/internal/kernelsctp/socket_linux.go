package kernelsctp

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// Constants of linux/sctp.h that package unix lacks.
const (
	solSCTP = unix.IPPROTO_SCTP

	optInitMsg    = 2
	optNoDelay    = 3
	optAdaptation = 7
	optStatus     = 14
	optRecvInfo   = 32
	optEvent      = 127

	cmsgSendInfo = 2
	cmsgRecvInfo = 3

	flagUnordered = 1 << 0
	flagAbort     = 1 << 2

	msgNotification = 0x8000

	eventAssociation = 1<<15 + 1
	eventAdaptation  = 1<<15 + 7
	eventSenderDry   = 1<<15 + 9

	stateLost         = 1 // of struct sctp_assoc_change
	stateShutdown     = 3
	stateCannotBegin  = 4
	sizeOfSendInfo    = 16
	sizeOfRecvInfo    = 28
	sizeOfStatus      = 176
	sizeOfEvent       = 8
	sizeOfInitMsg     = 8
	writeQueuedOfInfo = 5 // SK_MEMINFO_WMEM_QUEUED
)

var native = binary.NativeEndian

// socket is a one-to-one socket of SCTP.
type socket struct {
	file *os.File
	conn syscall.RawConn
}

// wrap registers a socket with Go's poller. It takes ownership of fd.
func wrap(fd int) (*socket, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "sctp")
	conn, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &socket{f, conn}, nil
}

// open returns a blocking socket that is set up for DDP.
func open(cfg sctp.Config) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	err = setUp(fd, cfg)
	if err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("setsockopt", err)
	}
	return fd, nil
}

// receiveBuffer is the size in bytes that the kernel is asked for.
const receiveBuffer = 2 << 20

func setUp(fd int, cfg sctp.Config) error {
	streams := uint16(cfg.Streams)
	if streams == 0 {
		streams = sctp.DefaultStreams
	}
	var initMsg []byte
	initMsg = native.AppendUint16(initMsg, streams) // outbound
	initMsg = native.AppendUint16(initMsg, streams) // inbound
	initMsg = append(initMsg, make([]byte, sizeOfInitMsg-len(initMsg))...)
	indication := native.AppendUint32(nil, uint32(sctp.DDP))
	for _, o := range []struct {
		option int
		value  []byte
	}{
		{optInitMsg, initMsg}, {optAdaptation, indication},
		{optEvent, event(eventAssociation)}, {optEvent, event(eventAdaptation)},
		{optEvent, event(eventSenderDry)},
	} {
		if err := unix.SetsockoptString(fd, solSCTP, o.option, string(o.value)); err != nil {
			return err
		}
	}
	for _, option := range []int{optNoDelay, optRecvInfo} {
		if err := unix.SetsockoptInt(fd, solSCTP, option, 1); err != nil {
			return err
		}
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
}

// event returns a struct sctp_event that subscribes to kind.
func event(kind uint16) []byte {
	p := native.AppendUint16(make([]byte, 4, sizeOfEvent), kind)
	return append(p, 1, 0)
}

// getsockopt reads an option.
func (s *socket) getsockopt(level, option int, p []byte) (err error) {
	n := uint32(len(p))
	controlErr := s.conn.Control(func(fd uintptr) {
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, uintptr(level), uintptr(option),
			uintptr(unsafe.Pointer(&p[0])), uintptr(unsafe.Pointer(&n)), 0)
		if e != 0 {
			err = os.NewSyscallError("getsockopt", e)
		}
	})
	return errors.Join(controlErr, err)
}

// status holds fields of struct sctp_status.
type status struct {
	in, out  int // streams
	fragment int // maximum message that is not fragmented, in bytes
}

func (s *socket) status() (status, error) {
	var p [sizeOfStatus]byte
	err := s.getsockopt(solSCTP, optStatus, p[:])
	return status{
		int(native.Uint16(p[16:])), int(native.Uint16(p[18:])), int(native.Uint32(p[20:])),
	}, err
}

// queued returns how many bytes of memory the kernel uses for unacknowledged messages.
func (s *socket) queued() (int, error) {
	var p [64]byte
	err := s.getsockopt(unix.SOL_SOCKET, unix.SO_MEMINFO, p[:])
	return int(native.Uint32(p[4*writeQueuedOfInfo:])), err
}

// sendInfo returns a control message with a struct sctp_sndinfo.
func sendInfo(stream, flags uint16, ppid uint32) []byte {
	oob := make([]byte, unix.CmsgSpace(sizeOfSendInfo))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
	h.Level, h.Type = solSCTP, cmsgSendInfo
	h.SetLen(unix.CmsgLen(sizeOfSendInfo))
	info := oob[unix.CmsgLen(0):]
	native.PutUint16(info, stream)
	native.PutUint16(info[2:], flags)
	binary.BigEndian.PutUint32(info[4:], ppid) // the kernel does not convert it
	return oob
}

// send sends a message, unordered, and waits until the kernel has room for it.
func (s *socket) send(stream uint16, ppid uint32, p []byte) (err error) {
	oob := sendInfo(stream, flagUnordered, ppid)
	waitErr := s.conn.Write(func(fd uintptr) bool {
		_, err = unix.SendmsgN(int(fd), p, oob, nil, unix.MSG_NOSIGNAL)
		return err != unix.EAGAIN
	})
	return errors.Join(waitErr, os.NewSyscallError("sendmsg", err))
}

// received is what recvmsg reports about a message.
type received struct {
	notification bool
	whole        bool // this is the end of it
	stream       uint16
	flags        uint16
	ppid         uint32
	tsn          uint32 // of the first fragment
}

// receive waits for a message, or a part of one. It returns io.EOF when the peer has ended the
// association.
func (s *socket) receive(p []byte) (n int, r received, err error) {
	var oob [64]byte
	var oobn, flags int
	waitErr := s.conn.Read(func(fd uintptr) bool {
		n, oobn, flags, _, err = unix.Recvmsg(int(fd), p, oob[:], 0)
		return err != unix.EAGAIN
	})
	if err := errors.Join(waitErr, os.NewSyscallError("recvmsg", err)); err != nil {
		return 0, r, err
	}
	if n == 0 {
		return 0, r, io.EOF
	}
	r.notification, r.whole = flags&msgNotification != 0, flags&unix.MSG_EOR != 0
	if r.notification {
		return n, r, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for _, m := range messages {
		if m.Header.Level == solSCTP && m.Header.Type == cmsgRecvInfo &&
			len(m.Data) >= sizeOfRecvInfo {
			r.stream, r.flags = native.Uint16(m.Data), native.Uint16(m.Data[4:])
			r.ppid, r.tsn = binary.BigEndian.Uint32(m.Data[8:]), native.Uint32(m.Data[12:])
			return n, r, err
		}
	}
	return 0, r, errors.Join(err, errors.New("a message without SCTP_RCVINFO"))
}

// address returns an end's address.
func (s *socket) address(of func(int) (unix.Sockaddr, error)) (a sctp.Addr, err error) {
	controlErr := s.conn.Control(func(fd uintptr) {
		var sa unix.Sockaddr
		if sa, err = of(int(fd)); err != nil {
			return
		}
		if in, ok := sa.(*unix.SockaddrInet4); ok {
			a = sctp.Addr{IP: netip.AddrFrom4(in.Addr), Port: uint16(in.Port)}
		}
	})
	return a, errors.Join(controlErr, err)
}

// end closes the socket, and aborts the association if there still is one.
func (s *socket) end(reason string) {
	_ = s.conn.Control(func(fd uintptr) {
		if reason != "" {
			_, _ = unix.SendmsgN(int(fd), []byte(reason), sendInfo(0, flagAbort, 0), nil,
				unix.MSG_NOSIGNAL) // fails only if it has ended
		}
		_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
	s.file.Close()
}

// shutdown sends SHUTDOWN.
func (s *socket) shutdown() {
	_ = s.conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
}
