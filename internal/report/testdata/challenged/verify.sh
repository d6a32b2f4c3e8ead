#!/bin/sh
# Verifies that the fix of session 20261130-debug-parse-duration makes this pass: TestParseDuration/negative
#
# Usage: sh verify.sh [--without-fix] [CLONE]
#   CLONE is a clone of the repository; without it the current folder is taken.
#   The clone itself is not changed: everything happens in a worktree that is
#   removed at the end. Needs git and what the project's tests need.
# Exit code: 0 the test passes, 1 it still fails for the same reason (as it must
#   with --without-fix),
#   2 the script cannot run here, 3 something else failed.
# Environment: RUNS, the number of repetitions (default 1).

set -u

commit='9f8e7d6c5b4a39281706f5e4d3c2b1a098765432'
command='go test ./... -run '\''^TestParseDuration$/^negative$'\'' -count=1'
setup='go mod download'
runs=${RUNS:-1}
with_fix=1
if [ "${1:-}" = --without-fix ]; then
	with_fix=0
	shift
fi

say() { printf '%s\n' "verify.sh: $*" >&2; }
cannot() { say "$*"; exit 2; }

[ -n "$command" ] || cannot "the session has no command that shows the failure"
at= # where git works: the clone, then the tree
work=$(mktemp -d "${TMPDIR:-/tmp}/culprit.XXXXXX") || cannot "no temporary folder can be made"
clone=
cleanup() {
	code=$?
	trap - EXIT HUP INT TERM
	if [ -n "$clone" ]; then
		git -C "$clone" worktree remove --force "$work/tree" >/dev/null 2>&1
		git -C "$clone" worktree prune >/dev/null 2>&1
	fi
	rm -rf "$work"
	exit "$code"
}
trap cleanup EXIT
trap 'exit 130' HUP INT TERM

patch() {
	cat <<'CULPRIT_PATCH'
From e5d4e5d4e5d4e5d4e5d4e5d4e5d4e5d4e5d4e5d4 Mon Sep 17 00:00:00 2001
From: culprit <culprit@example.com>
Subject: [PATCH] Fix: TestParseDuration/negative fails

---
diff --git a/duration.go b/duration.go
index 1111111..2222222 100644
--- a/duration.go
+++ b/duration.go
@@ -118,7 +118,8 @@ func ParseDuration(s string) (time.Duration, error) {
 	if err != nil {
 		return 0, err
 	}
-	return sign*whole + frac, nil
+	sec := sign * whole
+	return sec + sign*frac, nil
 }
 
 // units of a duration
CULPRIT_PATCH
}

# git without hooks and without asking for anything.
repository() {
	GIT_TERMINAL_PROMPT=0 git --literal-pathspecs -c core.hooksPath=/dev/null -c core.fsmonitor=false -C "$at" "$@"
}

if [ "${CULPRIT_IN_PLACE:-}" = 1 ]; then
	# The current folder is the tree, prepared already.
	tree=$PWD
else
	clone=${1:-.}
	clone=$(git -C "$clone" rev-parse --show-toplevel 2>/dev/null || git -C "$clone" rev-parse --absolute-git-dir 2>/dev/null) ||
		cannot "${1:-the current folder} is no git repository: name a clone"
	at=$clone
	for rev in '9f8e7d6c5b4a39281706f5e4d3c2b1a098765432'; do
		case $rev in -*) cannot "$rev is no commit" ;; esac
		repository cat-file -e "$rev^{commit}" 2>/dev/null || repository fetch -q origin "$rev" 2>/dev/null ||
			cannot "commit $rev is not in the clone and cannot be fetched: fetch it first"
	done
	tree=$work/tree
	repository worktree add -q --detach "$tree" "$commit" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		cannot "no worktree can be made"
	}
	at=$tree
	repository checkout -q '9f8e7d6c5b4a39281706f5e4d3c2b1a098765432' -- 'duration_test.go' || cannot 'duration_test.go of 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432 cannot be laid over'
	if [ "$with_fix" = 1 ]; then
		patch | repository apply --whitespace=nowarn - || cannot "the patch does not apply"
	fi
	if [ -n "$setup" ]; then
		say "set-up: $setup"
		(cd "$tree" && sh -c "$setup") >"$work/log" 2>&1 || {
			tail -n 50 "$work/log" >&2
			say "the set-up failed"
			exit 3
		}
	fi
fi

# same tells whether the output shows this failure and not another one.
same() {
	tr -d '\000' <"$work/log" >"$work/text"
	LC_ALL=C grep -F -e 'TestParseDuration/negative' "$work/text" | LC_ALL=C grep -E -q 'FAIL|Fail|fail|ERROR|Error|not ok|panic|✕|✖|×|●|^ *[0-9]+\) ' ||
		{ LC_ALL=C grep -q -F -e 'TestParseDuration/negative' "$work/text" && LC_ALL=C grep -E -q '^(panic:|fatal error:|WARNING: DATA RACE)|test timed out' "$work/text"; }
}

n=0
while [ "$n" -lt "$runs" ]; do
	n=$((n + 1))
	(cd "$tree" && sh -c "$command") >"$work/log" 2>&1
	status=$?
	if [ "$status" -ne 0 ]; then
		cat "$work/log"
		if same; then
			say "the failure is seen in run $n of $runs (exit code $status)"
			exit 1
		fi
		say "the command fails for another reason (exit code $status)"
		exit 3
	fi
done
tail -n 20 "$work/log"
say "the command passes, $n of $runs"
exit 0
