package main

import (
	"path/filepath"

	"culprit/internal/config"
	"culprit/internal/redact"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// dataFolder is where commands that run on this machine keep caches and sessions.
func (a *App) dataFolder() (string, error) {
	if dir, ok := a.LookupEnv("CULPRIT_DATA"); ok && dir != "" {
		return filepath.Abs(dir)
	}
	if dir, ok := a.LookupEnv("XDG_CACHE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "culprit"), nil
	}
	home, ok := a.LookupEnv("HOME")
	if !ok || home == "" {
		return "", &session.UserError{Code: "no-data-folder", What: "neither HOME nor CULPRIT_DATA is set", Do: "set CULPRIT_DATA to a folder for caches and sessions"}
	}
	return filepath.Join(home, ".cache", "culprit"), nil
}

// localModels are those of the environment, without limits that other
// processes share; nil when none is configured.
func (a *App) localModels(red *redact.Redactor) (*models, error) {
	set, err := config.LoadModels(a.LookupEnv)
	if err != nil {
		return nil, &session.UserError{Code: "model-settings", What: "the settings of models are not valid", Do: err.Error(), Err: err}
	}
	return openModels(set, nil, red, a.Now)
}

// localSandbox is the sandbox of a command that a person runs, who may switch
// it off.
func (a *App) localSandbox(name string) (sandbox.Sandbox, error) {
	hosts, _ := a.LookupEnv("CULPRIT_SETUP_HOSTS")
	further, err := config.HostList(hosts)
	if err != nil {
		return nil, &session.UserError{Code: "setup-hosts", What: "CULPRIT_SETUP_HOSTS: " + err.Error(), Do: "correct it", Err: err}
	}
	box, err := sandbox.Open(name, sandbox.Options{AllowOff: true, SetupHosts: further})
	if err != nil {
		return nil, &session.UserError{Code: "no-sandbox", What: "the sandbox cannot be used", Do: err.Error(), Err: err}
	}
	return box, nil
}
