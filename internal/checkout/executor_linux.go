package checkout

import "syscall"

// groupAttr makes git lead a process group that can be killed whole, and lets
// it die with this process.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
