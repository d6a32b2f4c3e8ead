package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"culprit/handlers"
	"culprit/internal/session"
	"culprit/queue"
)

// jobView is a job as `bot jobs --json` prints it. Fields are only ever added.
type jobView struct {
	ID           string          `json:"id"`
	State        queue.State     `json:"state"`
	Priority     string          `json:"priority"` // ci, issue, person
	Repository   string          `json:"repository,omitempty"`
	Installation string          `json:"installation,omitempty"`
	Delivery     string          `json:"delivery,omitempty"`
	Key          string          `json:"key,omitempty"`
	Ref          string          `json:"ref,omitempty"`
	SHA          string          `json:"sha,omitempty"`
	Worker       string          `json:"worker,omitempty"`
	Fence        int64           `json:"fence,omitempty"`
	Failures     int             `json:"failures"`
	Crashes      int             `json:"crashes"`
	CrashesInRow int             `json:"crashes_in_row"` // since the work last made progress
	Merged       int             `json:"merged"`
	Progress     string          `json:"progress,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	Asked        queue.Signal    `json:"asked,omitempty"` // what a running job was asked
	ReplacedBy   string          `json:"replaced_by,omitempty"`
	EnqueuedAt   time.Time       `json:"enqueued_at,omitzero"`
	StartedAt    time.Time       `json:"started_at,omitzero"`
	Since        time.Time       `json:"since,omitzero"`
	DueAt        time.Time       `json:"due_at,omitzero"` // running: end of the lease
	EndedAt      time.Time       `json:"ended_at,omitzero"`
	Reported     bool            `json:"reported"` // its end was told to people
	Request      json.RawMessage `json:"request,omitempty"`
	Session      *sessionView    `json:"session,omitempty"` // show only
	History      []changeView    `json:"history,omitempty"` // show only
}

type changeView struct {
	At    time.Time   `json:"at"`
	State queue.State `json:"state"`
	Why   string      `json:"why,omitempty"`
}

// sessionView is what the last checkpoint tells.
type sessionView struct {
	ID      string         `json:"id"`
	Stage   string         `json:"stage"`
	Result  session.Result `json:"result,omitempty"`
	Comment string         `json:"comment,omitempty"`
	Pull    string         `json:"pull_request,omitempty"`
	SavedAt time.Time      `json:"saved_at,omitzero"`
}

func viewOf(i queue.Info) jobView {
	v := jobView{
		ID: i.ID, State: i.State, Priority: i.Priority.String(), Repository: i.Repository, Installation: i.Installation,
		Delivery: i.Delivery, Key: i.Key, Ref: i.Ref, SHA: i.SHA, Worker: i.Worker, Fence: i.Fence, Failures: i.Attempt,
		Crashes: i.Crashes, CrashesInRow: i.CrashesInRow, Merged: i.Merges, Progress: i.Progress, Reason: i.Reason, Summary: i.Summary, Asked: i.Stop,
		ReplacedBy: i.Replaced, EnqueuedAt: i.EnqueuedAt.UTC(), StartedAt: utc(i.StartedAt), Since: utc(i.Since),
		DueAt: utc(i.DueAt), EndedAt: utc(i.EndedAt), Reported: i.Reported,
	}
	if json.Valid(i.Payload) {
		v.Request = i.Payload
	}
	return v
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// about says in a few words what a job is about.
func about(i queue.Info) string {
	req, err := handlers.DecodeRequest(i.Payload)
	if err != nil {
		return i.Key
	}
	var parts []string
	switch {
	case req.PR > 0:
		parts = append(parts, "PR #"+strconv.Itoa(req.PR))
	case req.Issue > 0:
		parts = append(parts, "issue #"+strconv.Itoa(req.Issue))
	case req.Run > 0:
		parts = append(parts, "run "+strconv.FormatInt(req.Run, 10))
	case req.CheckSuite > 0:
		parts = append(parts, "suite "+strconv.FormatInt(req.CheckSuite, 10))
	case req.CheckRun > 0:
		parts = append(parts, "check "+strconv.FormatInt(req.CheckRun, 10))
	}
	if req.SHA != "" {
		at := (session.Commit{SHA: req.SHA}).Short()
		if req.Ref != "" {
			at = req.Ref + "@" + at
		}
		parts = append(parts, at)
	}
	return strings.Join(parts, " ")
}

// detail is the one thing that matters most about a job in its state.
func detail(i queue.Info, now time.Time) string {
	switch i.State {
	case queue.Running:
		if late := now.Sub(i.DueAt); late > 0 && !i.DueAt.IsZero() {
			return "its worker has been silent for " + age(late) + " beyond its lease"
		}
		if i.Stop != queue.SignalNone {
			return "asked to stop (" + string(i.Stop) + "): " + i.Reason
		}
		return i.Progress
	case queue.Queued:
		if i.Crashes > 0 || i.Attempt > 0 {
			return "again: " + i.Reason
		}
		return ""
	case queue.Retrying, queue.Snoozed:
		return strings.TrimSuffix("due "+until(i.DueAt, now)+": "+i.Reason, ": ")
	case queue.Superseded:
		return "by " + i.Replaced
	case queue.Done:
		return i.Summary
	}
	return i.Reason
}

func until(t, now time.Time) string {
	if !t.After(now) {
		return "now"
	}
	return "in " + age(t.Sub(now))
}

// age is a duration as people say it: 40s, 5m, 3h20m, 6d.
func age(d time.Duration) string {
	d = max(d, 0)
	h, m := int(d.Hours()), int(d.Minutes())
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case m < 120:
		return fmt.Sprintf("%dm", m)
	case h < 24:
		return fmt.Sprintf("%dh%02dm", h, m%60)
	case h < 48:
		return fmt.Sprintf("%dh", h)
	}
	return fmt.Sprintf("%dd", h/24)
}
