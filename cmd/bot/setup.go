package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/session"
)

// setupFlags are the flags of `bot setup` (GH10).
type setupFlags struct {
	url, org, github, name, addr, callback, out string
	print                                       bool
}

func setupFlagSet(f *setupFlags) *pflag.FlagSet {
	fs := pflag.NewFlagSet("setup", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.StringVar(&f.url, "url", "", "address at which GitHub reaches `bot serve`, such as https://culprit.example.org (required)")
	fs.StringVar(&f.org, "org", "", "organisation that will own the App (default: your own account)")
	fs.StringVar(&f.name, "name", "", "name of the App, unique on GitHub (default: Culprit and the organisation)")
	fs.StringVar(&f.github, "github", "https://github.com", "web address of GitHub; https://HOST for GitHub Enterprise Server")
	fs.StringVar(&f.addr, "addr", "127.0.0.1:8090", "address on which this command listens for your browser")
	fs.StringVar(&f.callback, "callback", "", "address of this command as your browser sees it (default: http://ADDR)")
	fs.StringVar(&f.out, "out", "culprit.env", "file for the settings; the private key goes beside it, into NAME.pem")
	fs.BoolVar(&f.print, "print", false, "print the credentials for a secret store instead of writing files")
	return fs
}

// setup makes the App by GitHub's manifest flow and stores its credentials.
func (a *App) setup(ctx context.Context, args []string) int {
	var f setupFlags
	fs := setupFlagSet(&f)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(a.Stdout, "usage: bot setup --url https://… [--org NAME]\n\nMakes the GitHub App with the permissions and events that it needs, and stores its credentials.\n\n%s", fs.FlagUsages())
		return exitOK
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("setup takes no argument: %q", fs.Arg(0))
	}
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return a.usageError("setup", err)
	}
	if err := a.runSetup(ctx, f); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// check completes the flags; all problems come at once.
func (f *setupFlags) check() error {
	var problems []error
	address := func(flag string, value *string, plain bool) {
		u, err := url.Parse(*value)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || (u.Scheme != "https" && (u.Scheme != "http" || !plain && !loopback(u.Hostname()))) {
			problems = append(problems, fmt.Errorf("--%s %q: want an address such as https://culprit.example.org", flag, *value))
			return
		}
		*value = strings.TrimRight(*value, "/")
	}
	if f.callback == "" {
		f.callback = "http://" + f.addr
	}
	address("url", &f.url, false)
	address("github", &f.github, false)
	address("callback", &f.callback, true)
	if strings.ContainsAny(f.org, "/?#% ") {
		problems = append(problems, fmt.Errorf("--org %q: want the organisation's name", f.org))
	}
	if f.name == "" {
		f.name = strings.TrimSpace("Culprit " + f.org)
	}
	if len(f.name) > 34 {
		problems = append(problems, fmt.Errorf("--name %q: GitHub takes at most 34 characters", f.name))
	}
	if !f.print {
		// The file is read by shells, by systemd and by container engines, which
		// quote in different ways: so nothing in it may need quotes.
		if key, err := filepath.Abs(f.keyFile()); err != nil || !plainPath.MatchString(key) {
			problems = append(problems, fmt.Errorf("--out %q: want a path of letters, digits and . _ - / alone, from the root on", f.out))
		}
		for _, name := range []string{f.out, f.keyFile()} {
			if _, err := os.Lstat(name); err == nil {
				problems = append(problems, fmt.Errorf("%s exists already: choose another file with --out, or move it away", name))
			}
		}
	}
	return errors.Join(problems...)
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (f *setupFlags) keyFile() string { return strings.TrimSuffix(f.out, filepath.Ext(f.out)) + ".pem" }

// apiURL is the REST root of a GitHub whose web address is given.
func (f *setupFlags) apiURL() string {
	if f.github == "https://github.com" {
		return "https://api.github.com"
	}
	return f.github + "/api/v3"
}

// runSetup serves the pages until the App is made.
func (a *App) runSetup(ctx context.Context, f setupFlags) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return &session.UserError{Code: "listen", What: "cannot listen on " + f.addr, Do: "choose another address with --addr", Err: err}
	}
	if _, port, err := net.SplitHostPort(f.addr); err == nil && port == "0" && f.callback == "http://"+f.addr {
		f.callback = "http://" + listener.Addr().String()
	}
	manifest, err := json.Marshal(github.NewManifest(f.name, f.url+"/webhook", f.callback+"/setup/done"))
	if err != nil {
		return err
	}
	secret := rand.Text()
	made := make(chan struct{})
	pages, err := handlers.NewSetup(handlers.SetupConfig{
		Secret: secret, GitHub: f.github, Org: f.org, Manifest: string(manifest),
		Finish: func(ctx context.Context, code string) (string, error) {
			app, err := github.ConvertManifest(ctx, f.apiURL(), code, nil)
			if err != nil {
				return "", err
			}
			a.store(f, app)
			close(made)
			return app.InstallURL(), nil
		},
	})
	if err != nil {
		return err
	}
	server := handlers.Server(f.addr, pages)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(a.Stdout, "Open this address in your browser:\n\n  %s/setup?secret=%s\n\nGitHub will show the App that is to be made; this command waits for you.\n", f.callback, secret)
	select {
	case <-made:
		err = nil
	case err = <-ended:
		return fmt.Errorf("serve the set-up pages: %w", err)
	case <-ctx.Done():
		err = ctx.Err()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if stopped := server.Shutdown(grace); stopped != nil && err == nil {
		err = stopped
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// store keeps the credentials. GitHub gives them once, so when they cannot be
// written they are printed rather than lost.
func (a *App) store(f setupFlags, app github.Created) {
	settings := fmt.Sprintf("GITHUB_API_URL=%s\nGITHUB_APP_ID=%d\nGITHUB_WEBHOOK_SECRET=%s\n", f.apiURL(), app.ID, app.WebhookSecret)
	fmt.Fprintf(a.Stdout, "\nGitHub made the App %s (ID %d).\n", printable(app.Name), app.ID)
	if !f.print {
		key, err := filepath.Abs(f.keyFile())
		if err == nil {
			err = errors.Join(writeSecret(key, app.PrivateKey), writeSecret(f.out, settings+"GITHUB_APP_PRIVATE_KEY_FILE="+key+"\n"))
		}
		if err == nil {
			fmt.Fprintf(a.Stdout, "Its settings are in %s and its private key in %s, which only you can read.\n\nNext:\n  1. Install it on your repositories: %s\n  2. Start the bot: set -a; . %s; set +a; bot serve --work\n  3. Check everything: bot doctor --repo OWNER/NAME\n",
				f.out, f.keyFile(), app.InstallURL(), shellPath(f.out))
			return
		}
		fmt.Fprintf(a.Stderr, "bot setup: the files cannot be written (%v): store this now, GitHub does not show it again\n", err)
	}
	fmt.Fprintf(a.Stdout, "\n%sGITHUB_APP_PRIVATE_KEY='%s'\n\nInstall it on your repositories: %s\n", settings, strings.TrimSpace(app.PrivateKey), app.InstallURL())
}

// shellPath is a path that the shell's dot finds.
func shellPath(p string) string {
	if strings.ContainsRune(p, '/') {
		return p
	}
	return "./" + p
}

// writeSecret makes a file that only its owner can read, and never replaces one.
func writeSecret(name, content string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Sync(), file.Close())
}
