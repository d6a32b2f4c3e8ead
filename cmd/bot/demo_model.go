package main

import (
	_ "embed"
	"path/filepath"

	"culprit/internal/modeltest"
)

// exampleScript lets a scripted model mend the demo's three bugs.
//
//go:embed demodata/model.yml
var exampleScript []byte

// openModel starts the scripted model, if one was asked for.
func (d *demo) openModel() (err error) {
	if d.script == "" {
		return nil
	}
	var s *modeltest.Scenario
	if d.script == "example" {
		s, err = modeltest.Parse(exampleScript)
	} else {
		s, err = modeltest.Load(d.script)
	}
	if err != nil {
		return err
	}
	if d.model, err = modeltest.Start(s); err != nil {
		return err
	}
	d.say("A scripted model on loopback: %s, script %s", d.model.URL(), filepath.Base(d.script))
	return nil
}

func (d *demo) closeModel() error {
	if d.model == nil {
		return nil
	}
	d.say("The model was asked %d times; what it was told and said stands in %s", len(d.model.Requests()), filepath.Join(d.dir, "bot", "sessions", "*", "logs", "*-agent.md"))
	return d.model.Close()
}

// modelSettings is the part of the bot's environment that is about models.
func (d *demo) modelSettings(name string) (string, bool) {
	if d.model == nil {
		return "", false
	}
	switch name {
	case "OPENAI_BASE_URL":
		return d.model.URL(), true
	case "OPENAI_API_KEY":
		return "demo-key", true
	case "CULPRIT_MODEL_HIGH":
		return "script", true
	case "CULPRIT_MODEL_PRICES":
		return "script=1/0.1/4", true
	}
	return "", false
}
