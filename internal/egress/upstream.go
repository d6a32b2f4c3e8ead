package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// through opens a tunnel by the operator's own proxy.
func (p *Proxy) through(ctx context.Context, address string) (net.Conn, error) {
	up := p.opts.Upstream
	port := up.Port()
	if port == "" {
		port = "80"
	}
	conn, err := p.opts.Dial(ctx, "tcp", net.JoinHostPort(up.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("connect to the proxy: %w", err)
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if up.User != nil {
		password, _ := up.User.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)))
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := req.Write(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the proxy: %w", err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the proxy: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || r.Buffered() > 0 { // nothing may come before the tunnel is used
		conn.Close()
		return nil, fmt.Errorf("the proxy answers %s", resp.Status)
	}
	return conn, nil
}
