package experiment

import (
	"context"
	"mime"
	"strings"

	"culprit/internal/session"
)

// Render makes a fix of edits that somebody wrote: the edits of the base
// commit as a patch, with its hunks and counts.
func (l *Lab) Render(ctx context.Context, base string, edits []session.Edit, task, strategy, summary string) (*session.Fix, error) {
	fix, err := l.rendered(ctx, base, edits)
	if err != nil {
		return nil, err
	}
	fix.Task, fix.Strategy, fix.Summary = task, strategy, summary
	fix.Patch = mail(fix)
	return &fix, nil
}

// mail makes the fix's patch one that both `git am` and `git apply` take. What
// it quotes of commits and tests is foreign: the subject is one line, encoded
// where it must be, and no line of the text begins with a foreign word, which
// could be taken for the beginning of the diff. It depends on the fix alone,
// so that a resumed session makes the same patch.
func mail(fix session.Fix) string {
	subject := mime.QEncoding.Encode("utf-8", clip(oneLine("Fix: "+fix.Summary), 160))
	var b strings.Builder
	b.WriteString("From " + strings.Repeat("0", 40) + " Mon Sep 17 00:00:00 2001\n")
	b.WriteString("From: culprit <culprit@localhost>\n")
	b.WriteString("Subject: [PATCH] " + strings.ReplaceAll(subject, "\r\n", "\n") + "\n")
	b.WriteString("MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n")
	b.WriteString("Why: " + oneLine(fix.Summary) + ".\n")
	b.WriteString("What: " + oneLine(fix.Strategy) + ".\n")
	b.WriteString("---\n\n")
	b.WriteString(fix.Patch)
	return b.String()
}
