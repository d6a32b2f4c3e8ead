package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// forward runs a set-up step inside the sandbox, beside a listener that passes
// its connections on to the proxy outside.
func forward(argv []string) (int, error) {
	const failed = 125
	l, err := net.Listen("tcp4", egressAddress)
	if err != nil {
		return failed, fmt.Errorf("listen for the set-up step: %w", err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go pass(c)
		}
	}()
	child, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return failed, fmt.Errorf("start the set-up step: %w", err)
	}
	state, err := child.Wait()
	if err != nil {
		return failed, fmt.Errorf("wait for the set-up step: %w", err)
	}
	code, _ := exitCode(state)
	return code, nil
}

// pass joins a connection to the proxy's socket.
func pass(c net.Conn) {
	defer c.Close()
	out, err := net.Dial("unix", filepath.Join(egressFolder, egressSocket))
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{out, c}, {c, out}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
}
