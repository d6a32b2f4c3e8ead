package egress

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections are open at once for one sandbox. Each may cost this process
// two descriptors; no installer of packages comes near.
const maxConnections = 256

// limited is a listener that answers connections over the limit instead of
// letting them wait: who holds all of them is the set-up step itself.
type limited struct {
	net.Listener
	places chan struct{}
}

func limit(l net.Listener) net.Listener {
	return &limited{l, make(chan struct{}, maxConnections)}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &placed{Conn: c, free: sync.OnceFunc(func() { <-l.places })}, nil
		default:
		}
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(c, "HTTP/1.1 503 "+http.StatusText(http.StatusServiceUnavailable)+"\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nculprit: a set-up step has too many connections open at once\n")
		closeWrite(c)
		_ = c.Close()
	}
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	net.Conn
	free func()
}

func (c *placed) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite lets the other end of a tunnel know that nothing more comes.
func (c *placed) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
