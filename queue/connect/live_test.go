package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"culprit/internal/budget"
	"culprit/internal/index"
	"culprit/internal/knowledge"
	"culprit/internal/session"
	"culprit/queue"
	"culprit/queue/connect"
	"culprit/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, text string, files connect.Files) redis.UniversalClient {
	t.Helper()
	a, err := connect.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	rdb, err := connect.Open(a, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// worksOff runs a pool on one job, and listens to what wakes it.
func worksOff(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	prefix := queuetest.Prefix()
	q, err := queue.Open(t.Context(), queue.Options{Redis: rdb, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	sub := rdb.Subscribe(t.Context(), "{"+prefix+"}:wake")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Enqueue(t.Context(), queue.Job{}); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.ReceiveMessage(t.Context()); err != nil || m.Payload != "job" {
		t.Fatalf("got %v, %v", m, err)
	}
	done := make(chan struct{})
	p, err := queue.NewPool(q, queue.PoolOptions{Handler: queue.HandlerFunc(func(context.Context, *queue.Claim) queue.Outcome {
		close(done)
		return queue.Finished("")
	})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	<-done
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// useIndex uses the bot's other keys in all ways.
func useIndex(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	x := index.Open(rdb)
	if err := x.Put(t.Context(), index.Entry{Session: "s", Key: "k"}); err != nil {
		t.Error(err)
	}
	if _, ok, err := x.Latest(t.Context(), "k"); err != nil || !ok {
		t.Error(ok, err)
	}
	if owner, err := x.Own(t.Context(), []string{"f", "g"}, "s", ""); err != nil || owner != "s" {
		t.Error(owner, err)
	}
	if err := x.See(t.Context(), "s", session.Sighting{Session: "other"}); err != nil {
		t.Error(err)
	}
	if all, err := x.Sightings(t.Context(), "s"); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
	if err := x.Unsee(t.Context(), "s", "other"); err != nil {
		t.Error(err)
	}
}

func useKnowledge(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	x := knowledge.OpenRedis(rdb)
	s := &session.Session{ID: "s", Result: session.ResultFlaky, Source: session.Source{Repository: "o/r"}, Symptom: session.Symptom{Failures: []session.Failure{{Test: "TestA"}}}}
	for i := range 22 {
		s.ID = fmt.Sprintf("s-%02d", i)
		if err := x.Learn(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
	s.ID = "now"
	if past, err := x.Recall(t.Context(), s); err != nil || len(past) != 20 {
		t.Error(len(past), err)
	}
}

func useBudget(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	l, scopes := budget.Open(rdb), []budget.Scope{budget.Session("s", budget.Amount{Tokens: 100})}
	if err := l.Reserve(t.Context(), "c", budget.Amount{Tokens: 60}, budget.Amount{}, scopes); err != nil {
		t.Error(err)
	}
	if err := l.Reserve(t.Context(), "d", budget.Amount{Tokens: 60}, budget.Amount{}, scopes); err == nil {
		t.Error("the limit is passed")
	}
	if err := l.Settle(t.Context(), "c", budget.Amount{Tokens: 20}, scopes); err != nil {
		t.Error(err)
	}
	if used, err := l.Used(t.Context(), scopes[0]); err != nil || used.Tokens != 20 {
		t.Error(used, err)
	}
}

// Three nodes share the slots. That every operation of a queue stays in one
// slot is what the conformance suite shows here.
func TestAClusterCarriesTheQueue(t *testing.T) {
	t.Parallel()
	var hosts []string
	var nodes []*redis.Client
	for range 3 {
		port := queuetest.FreePort(t)
		p := queuetest.StartProcess(t, "--port", port, "--bind", "127.0.0.1", "--save", "", "--cluster-enabled", "yes", "--cluster-port", queuetest.FreePort(t),
			"--requirepass", "pw", "--masterauth", "pw")
		c := redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket, Password: "pw"})
		t.Cleanup(func() { _ = c.Close() })
		hosts, nodes = append(hosts, "127.0.0.1:"+port), append(nodes, c)
	}
	for i, c := range nodes {
		if err := c.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", i*16384/3, (i+1)*16384/3-1).Err(); err != nil {
			t.Fatal(err)
		}
		conf, err := nodes[0].ConfigGet(t.Context(), "cluster-port").Result()
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := strings.Cut(hosts[0], ":")
		if err := c.Do(t.Context(), "CLUSTER", "MEET", "127.0.0.1", port, conf["cluster-port"]).Err(); err != nil && i > 0 {
			t.Fatal(err)
		}
	}
	queuetest.Eventually(t, "the cluster is whole", func() bool {
		for _, c := range nodes {
			info, err := c.ClusterInfo(t.Context()).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3") {
				return false
			}
		}
		return true
	})
	for _, c := range nodes {
		if err := c.Do(t.Context(), setUser(t)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rdb := open(t, "redis+cluster://culprit:pw@"+strings.Join(hosts[:2], ","), connect.Files{})
	problems, err := queue.CheckServer(t.Context(), rdb)
	if err != nil || len(problems) != 3 {
		t.Errorf("want a word on the persistence of each node, got %v, %v", problems, err)
	}
	worksOff(t, rdb)
	useIndex(t, rdb)
	useKnowledge(t, rdb)
	useBudget(t, rdb)
	t.Run("conformance", func(t *testing.T) { queuetest.Run(t, rdb) })
	for i, c := range nodes {
		if n, err := c.DBSize(t.Context()).Result(); err != nil || n == 0 {
			t.Errorf("node %d has %d keys, %v: its slots were not tried", i, n, err)
		}
	}
}

// setUser is the command that makes the documentation's user, with the password
// "pw". Its queue has one prefix, and tests have many.
func setUser(t *testing.T) []any {
	t.Helper()
	user := []any{"ACL", "SETUSER", "culprit", "on", ">pw"}
	for _, right := range queuetest.Rights(t) {
		user = append(user, strings.ReplaceAll(right, "{culprit*}", "{*}"))
	}
	return user
}

// TLS by an authority of one's own, with a client's certificate, and an ACL
// user with just the rights that the documentation gives it.
func TestTLSAndAnACLUserWithTheDocumentedRightsCarryTheQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := newAuthority(t, dir)
	ca.issue("server", "127.0.0.1")
	ca.issue("client", "")
	port := queuetest.FreePort(t)
	p := queuetest.StartProcess(t, "--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
		"--tls-cert-file", dir+"/server.pem", "--tls-key-file", dir+"/server.key", "--tls-ca-cert-file", dir+"/ca.pem")
	admin := p.Client()
	user := setUser(t)
	if err := admin.Do(t.Context(), user...).Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	files := connect.Files{CA: dir + "/ca.pem", Cert: dir + "/client.pem", Key: dir + "/client.key"}
	rdb := open(t, "rediss://culprit:pw@127.0.0.1:"+port, files)
	if problems, err := queue.CheckServer(t.Context(), rdb); err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v", problems, err)
	}
	worksOff(t, rdb)
	useIndex(t, rdb)
	t.Run("conformance", func(t *testing.T) { queuetest.Run(t, rdb) })

	// No right is given that nothing needs.
	stats, err := admin.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, right := range user {
		if name, ok := strings.CutPrefix(right.(string), "+"); ok && !strings.Contains(stats, "cmdstat_"+name+":") && name != "cluster|slots" && name != "cluster|shards" {
			t.Errorf("the right %s is not used", right)
		}
	}
	for name, refused := range map[string]redis.UniversalClient{
		"another authority's server": open(t, "rediss://culprit:pw@127.0.0.1:"+port, connect.Files{Cert: files.Cert, Key: files.Key}),
		"no client certificate":      open(t, "rediss://culprit:pw@127.0.0.1:"+port, connect.Files{CA: files.CA}),
		"another name":               open(t, "rediss://culprit:pw@127.0.0.1:"+port+"?tls_server_name=other.example", files),
		"a wrong password":           open(t, "rediss://culprit:no@127.0.0.1:"+port, files),
	} {
		if err := refused.Ping(t.Context()).Err(); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
	if err := rdb.Get(t.Context(), "others").Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("another's key can be read: %v", err)
	}
}

// An authority issues certificates into a folder.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir string) *authority {
	t.Helper()
	a := &authority{t: t, dir: dir}
	a.cert, a.key = a.make("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	return a
}

func (a *authority) issue(name, ip string) {
	a.t.Helper()
	c := &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip != "" {
		c.IPAddresses = []net.IP{net.ParseIP(ip)}
	}
	a.make(name, c, a.cert, a.key)
}

func (a *authority) make(name string, c, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}
