package host

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"
)

// BusyTime returns the time used on the given CPUs, or on all if none are given.
func BusyTime(cpus ...int) Busy {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Busy{}
	}
	return parseBusy(stat, cpus)
}

// parseBusy parses /proc/stat (proc(5)). Its first line, "cpu", is for all CPUs. A line for each
// CPU follows, for example "cpu0".
func parseBusy(stat []byte, cpus []int) (b Busy) {
	for line := range bytes.Lines(stat) {
		name, ticks, ok := bytes.Cut(line, []byte(" "))
		number, ofCPU := bytes.CutPrefix(name, []byte("cpu"))
		if !ok || !ofCPU {
			break
		}
		if len(cpus) == 0 && len(number) == 0 {
			return parseTicks(ticks)
		}
		if cpu, err := strconv.Atoi(string(number)); err == nil && slices.Contains(cpus, cpu) {
			of := parseTicks(ticks)
			b.Tasks += of.Tasks
			b.Interrupts += of.Interrupts
			b.Stolen += of.Stolen
		}
	}
	return b
}

// parseTicks parses the ticks of user, nice, system, idle, iowait, irq, softirq and steal time.
func parseTicks(line []byte) Busy {
	const tick = time.Second / 100 // USER_HZ
	var ticks [8]time.Duration
	fields := bytes.Fields(line)
	if len(fields) < len(ticks) {
		return Busy{}
	}
	for i := range ticks {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return Busy{}
		}
		ticks[i] = time.Duration(n) * tick
	}
	return Busy{
		Tasks:      ticks[0] + ticks[1] + ticks[2],
		Interrupts: ticks[5] + ticks[6],
		Stolen:     ticks[7],
	}
}
