package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// upstream is the operator's own proxy for a target, nil when there is none for
// it. Scheme is "https" for tunnels, as a client's own would be.
func (p *Proxy) upstream(scheme string, t target) (*url.URL, error) {
	if p.opts.Upstream == nil {
		return nil, nil
	}
	up, err := p.opts.Upstream(&url.URL{Scheme: scheme, Host: t.String()})
	if err != nil {
		return nil, fmt.Errorf("find the proxy for %s: %w", t, err)
	}
	return up, nil
}

// reach connects to the operator's own proxy.
func (p *Proxy) reach(ctx context.Context, up *url.URL) (net.Conn, error) {
	port := up.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[up.Scheme]
	}
	if port == "" {
		port = "80"
	}
	conn, err := p.opts.Dial(ctx, "tcp", net.JoinHostPort(up.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("connect to the proxy: %w", err)
	}
	return conn, nil
}

// through opens a tunnel by the operator's own proxy.
func (p *Proxy) through(ctx context.Context, up *url.URL, address string) (net.Conn, error) {
	conn, err := p.reach(ctx, up)
	if err != nil {
		return nil, err
	}
	if up.Scheme == "https" {
		safe := tls.Client(conn, &tls.Config{ServerName: up.Hostname()})
		if err := safe.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, fmt.Errorf("connect to the proxy: %w", err)
		}
		conn = safe
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
