//go:build unix && !linux

package checkout

import "syscall"

// groupAttr makes git lead a process group that can be killed whole.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
