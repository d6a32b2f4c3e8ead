package experiment

import (
	"context"
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestACulpritThatMovesDependenciesNamesTheOne(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.program = func(files map[string]string, script string, _ int) session.Outcome {
		if strings.Contains(files["requirements.txt"], "middle==1.3\n") {
			return session.FailedSame
		}
		return session.Passed
	}
	w.commit(map[string]string{"requirements.txt": "first==1.0\nmiddle==1.0\nlast==1.0\n", "a_test": "x"})
	w.commit(map[string]string{"requirements.txt": "first==2.0\nmiddle==1.3\nlast==2.0\n"})
	lang := plain()
	lang.IsLockFile = func(path string) bool { return path == "requirements.txt" }
	l, err := NewLab(Outside{History: w, Trees: w, Executor: w, Store: w, Language: lang}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	f := investigate(t, l, w.session(session.Regression))
	if len(f.Cause.Moved) != 1 || f.Cause.MovedOf != 3 || f.Cause.Moved[0].Name != "middle" {
		t.Fatalf("%s\n%+v %s", f.Findings, f.Cause.Moved, f.Cause.MovedNote)
	}
	want := "Of 3 moves it is middle, which moved from ==1.0 to ==1.3; its releases were not tried: "
	if !strings.Contains(f.Findings, want) || f.Cause.Moved[0].Passes != "" {
		t.Errorf("%s", f.Findings)
	}
	if w.executed > 24 {
		t.Errorf("%d runs", w.executed)
	}
}
