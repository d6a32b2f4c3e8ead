package githubtest_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culprit/internal/githubtest"
)

// What is written without git must be what git would have written.
func TestGitAgreesWithWhatWasWrittenWithoutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.GitDir(repoName)
	files := map[string]string{
		"a.go": "1", "a/b.go": "2", "a-b/c.go": "3", "a/z/deep/er.go": "4", "ä ö.txt": "5", "b": "6", "empty": "", "a/b.goo": "7", "b0": "8",
	}
	messages := []string{"Title\n\nBody of\nmore lines", "Title", "", "Ünï\n"}
	var last string
	for n, path := range slices.Sorted(maps.Keys(files)) {
		sha, err := w.CommitFile(repoName, "ada", "main", path, []byte(files[path]), messages[n%len(messages)])
		must(t, err)
		last = sha
	}
	git(t, dir, "fsck", "--strict", "--no-dangling")
	if got := git(t, dir, "rev-parse", "refs/heads/main"); got != last {
		t.Errorf("main is %s, want %s", got, last)
	}
	// git builds the same tree out of the same files.
	index := "GIT_INDEX_FILE=" + t.TempDir() + "/index"
	lines := git(t, dir, "-c", "core.quotePath=false", "ls-tree", "-r", "main")
	if want := len(files) + 2; strings.Count(lines, "\n")+1 != want {
		t.Errorf("%d files, want %d:\n%s", strings.Count(lines, "\n")+1, want, lines)
	}
	gitIn(t, dir, index, lines+"\n", "update-index", "--index-info")
	if got, want := gitIn(t, dir, index, "", "write-tree"), git(t, dir, "rev-parse", "main^{tree}"); got != want {
		t.Errorf("git's tree is %s, ours %s", got, want)
	}
	for path, text := range files {
		if got := git(t, dir, "cat-file", "blob", "main:"+path); got != text {
			t.Errorf("%s has %q, want %q", path, got, text)
		}
	}
	got, _, err := w.client().Repositories.GetCommit(t.Context(), "octo", "calc", last, nil)
	must(t, err)
	want := strings.Split(git(t, dir, "log", "-1", "--format=%T|%P|%an|%ae|%at|%cn|%ce|%B", last), "|")
	c := got.GetCommit()
	for n, have := range []string{c.GetTree().GetSHA(), got.Parents[0].GetSHA(), c.GetAuthor().GetName(), c.GetAuthor().GetEmail()} {
		if have != want[n] {
			t.Errorf("field %d is %q, git says %q", n, have, want[n])
		}
	}
	if c.GetCommitter().GetName() != want[5] || c.GetCommitter().GetEmail() != want[6] || c.GetMessage() != want[7] {
		t.Errorf("commit = %v, git says %q", c, want)
	}
	for _, path := range []string{"", "/x", "x/", "a//b", "../x", ".git/config", "a/.GIT/x", "a/./b"} {
		if _, err := w.CommitFile(repoName, "ada", "main", path, []byte("x"), "bad"); err == nil {
			t.Errorf("path %q was taken", path)
		}
	}
	for _, branch := range []string{"", "a..b", "a b", "x.lock", "main/below", "a\nb"} {
		if _, err := w.CommitFile(repoName, "ada", branch, "x", []byte("x"), "bad"); err == nil {
			t.Errorf("branch %q was taken", branch)
		}
	}
	git(t, dir, "fsck", "--strict", "--no-dangling")
}

// Nothing may depend on how git happens to store refs and objects.
func TestPackedRepositoriesServeTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.GitDir(repoName)
	first, err := w.CommitFile(repoName, "ada", "topic/one", "x.txt", []byte("1\n"), "one")
	must(t, err)
	git(t, dir, "tag", "-a", "-m", "v1", "v1", first)
	before, err := w.Refs(repoName)
	must(t, err)
	git(t, dir, "pack-refs", "--all", "--prune")
	git(t, dir, "repack", "-a", "-d", "-q")
	after, err := w.Refs(repoName)
	must(t, err)
	if len(after) != 2 || after["main"] != before["main"] || after["topic/one"] != first {
		t.Errorf("refs are %v, were %v", after, before)
	}
	if _, err := w.CommitFile(repoName, "ada", "topic", "x.txt", nil, "in the way"); err == nil {
		t.Error("a branch was made where a folder of branches is")
	}
	second, err := w.CommitFile(repoName, "ada", "topic/one", "x.txt", []byte("2\n"), "two")
	must(t, err)
	if got := git(t, dir, "rev-parse", second+"^", "refs/heads/topic/one"); got != first+"\n"+second {
		t.Errorf("after a commit on a packed branch: %s", got)
	}
	byTag, _, err := w.client().Repositories.GetCommit(t.Context(), "octo", "calc", "v1", nil)
	must(t, err)
	if byTag.GetSHA() != first {
		t.Errorf("the tag is %s, want %s", byTag.GetSHA(), first)
	}
	run, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, SHA: second[:10], Jobs: []githubtest.Job{{Name: "test"}}})
	must(t, err)
	if run.SHA != second {
		t.Errorf("a short SHA is %s, want %s", run.SHA, second)
	}
	git(t, dir, "fsck", "--strict", "--no-dangling")
}

// A line of commits that is longer than what is walked, and merges in it.
func TestAncestryOfLongAndBranchedHistories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clone := t.TempDir()
	git(t, clone, "init", "--quiet", "--initial-branch=main")
	var stream strings.Builder
	const n = 90
	for i := 1; i <= n; i++ {
		ref := "refs/heads/main"
		stream.WriteString("commit " + ref + "\nmark :" + strconv.Itoa(i) + "\ncommitter A <a@example.com> " + strconv.Itoa(1000000+i) + " +0000\ndata 1\nx\n")
		stream.WriteString("M 100644 inline f" + strconv.Itoa(i) + "\ndata 1\n1\n\n")
	}
	gitIn(t, clone, "X=1", stream.String(), "fast-import", "--quiet")
	git(t, clone, "branch", "side", "main~80")
	must(t, w.ImportGit(repoName, clone, "side"))
	for _, b := range []string{"side", "main"} {
		git(t, clone, "push", "--quiet", "--force", w.withToken(w.token(nil)), b+":refs/heads/long-"+b)
	}
	pr, err := w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "Long", Head: "long-main", Base: "long-side"})
	must(t, err)
	got, _, err := w.client().PullRequests.Get(t.Context(), "octo", "calc", pr.Number)
	must(t, err)
	if got.GetCommits() != 80 || got.GetChangedFiles() != 80 || !got.GetMergeable() {
		t.Errorf("%d commits, %d files, mergeable %v", got.GetCommits(), got.GetChangedFiles(), got.GetMergeable())
	}
	if _, err := w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "None", Head: "long-side", Base: "long-main"}); err == nil ||
		!strings.Contains(err.Error(), "No commits between") {
		t.Errorf("a pull request without commits: %v", err)
	}
	sha, err := w.MergePull(repoName, pr.Number, "ada")
	must(t, err)
	cmp, _, err := w.client().Repositories.CompareCommits(t.Context(), "octo", "calc", "long-main", sha, nil)
	must(t, err)
	if cmp.GetStatus() != "ahead" || cmp.GetAheadBy() != 1 || cmp.GetMergeBaseCommit().GetSHA() != pr.HeadSHA {
		t.Errorf("comparison with the merge: %s by %d from %s", cmp.GetStatus(), cmp.GetAheadBy(), cmp.GetMergeBaseCommit().GetSHA())
	}
	pushes, err := w.Pushes(repoName)
	must(t, err)
	if last := pushes[len(pushes)-1]; last.Forced || last.After != sha {
		t.Errorf("the push of the merge is %+v", last)
	}
	git(t, w.GitDir(repoName), "fsck", "--strict", "--no-dangling")
}
