// Package connect makes the client of the Redis that holds the queue: a single
// node, a master behind Sentinels, or a Cluster, over TCP, TLS or a Unix socket,
// with or without an ACL user (GH4).
//
// It is here and not left to the client's own URLs because those differ by kind,
// take the host of a Sentinel for the name in the master's certificate, and have
// no place for a certificate of one's own. And because the client must keep what
// the queue promises: a call ends with its context, so that a webhook is
// answered while Redis is away; nothing is read from replicas; and a connection
// begins with nothing but the login, so that an ACL user needs few rights
// (docs/configuration.md lists them, and a test holds the list).
package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Files are certificates in PEM, for addresses with TLS. All may be empty: then
// the system's authorities count, and the client shows no certificate.
type Files struct {
	CA        string // of the authorities that the server's certificate must come from
	Cert, Key string // of the client, for a server that asks for it
}

// Times of a connection. A call that fails is tried again by the client until
// its context ends, so that a failover is ridden out.
const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 3 * time.Second
	maxRetries  = 5
	maxBackoff  = time.Second
)

// Open makes the client and connects to nothing yet. The error says which file
// cannot be used.
func Open(a Address, files Files) (redis.UniversalClient, error) {
	dial, err := dialer(a, files)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	noNotices := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch a.Kind {
	case Sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.Master, SentinelAddrs: a.Hosts,
			SentinelUsername: a.SentinelUsername, SentinelPassword: a.SentinelPassword,
			Username: a.Username, Password: a.Password, DB: a.DB, PoolSize: a.PoolSize, Dialer: dial,
			DialTimeout: dialTimeout, DialerRetries: 1, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
			MaxRetries: maxRetries, MaxRetryBackoff: maxBackoff, ContextTimeoutEnabled: true, DisableIdentity: true,
		}), nil
	case Cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.Hosts, Username: a.Username, Password: a.Password, PoolSize: a.PoolSize, Dialer: dial,
			DialTimeout: dialTimeout, DialerRetries: 1, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
			MaxRetries: maxRetries, MaxRetryBackoff: maxBackoff, ContextTimeoutEnabled: true, DisableIdentity: true,
			MaintNotificationsConfig: noNotices,
		}), nil
	}
	network, addr := "unix", a.Path
	if addr == "" {
		network, addr = "tcp", a.Hosts[0]
	}
	return redis.NewClient(&redis.Options{
		Network: network, Addr: addr, Username: a.Username, Password: a.Password, DB: a.DB, PoolSize: a.PoolSize, Dialer: dial,
		DialTimeout: dialTimeout, DialerRetries: 1, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout,
		MaxRetries: maxRetries, MaxRetryBackoff: maxBackoff, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: noNotices,
	}), nil
}

// dialer opens connections within their context, also the TLS handshake, and
// checks the certificate against the very host that is connected to.
func dialer(a Address, files Files) (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	plain := &net.Dialer{Timeout: dialTimeout, KeepAlive: time.Minute}
	if !a.TLS {
		if files != (Files{}) {
			return nil, errors.New("certificates are given, but the address is not of rediss://")
		}
		return plain.DialContext, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.ServerName}
	if files.CA != "" {
		pem, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("read authorities: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read authorities: %s has no certificate in PEM", files.CA)
		}
	}
	if files.Cert != "" || files.Key != "" {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate and key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return (&tls.Dialer{NetDialer: plain, Config: conf}).DialContext, nil
}
