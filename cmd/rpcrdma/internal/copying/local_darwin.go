package copying

import (
	"syscall"
)

func accessed(s *syscall.Stat_t) *syscall.Timespec { return &s.Atimespec }
func changed(s *syscall.Stat_t) *syscall.Timespec  { return &s.Ctimespec }
