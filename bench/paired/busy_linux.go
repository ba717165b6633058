package paired

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// busyTime returns the CPU time that all processes of the machine have used, with what the host of a
// virtual machine withheld; 0 if the system does not tell.
func busyTime() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseBusy(stat)
}

// parseBusy reads the first line of /proc/stat: "cpu", and ticks of user, nice, system, idle, iowait, irq, softirq and
// steal time (proc(5)).
func parseBusy(stat []byte) time.Duration {
	const (
		tick = time.Second / 100 // USER_HZ
		last = 8
	)
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) <= last || string(fields[0]) != "cpu" {
		return 0
	}
	var ticks int64
	for i := 1; i <= last; i++ {
		if i == 4 || i == 5 { // idle, iowait
			continue
		}
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}
