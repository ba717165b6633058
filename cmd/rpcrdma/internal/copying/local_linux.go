package copying

import (
	"syscall"
)

func accessed(s *syscall.Stat_t) *syscall.Timespec { return &s.Atim }
func changed(s *syscall.Stat_t) *syscall.Timespec  { return &s.Ctim }
