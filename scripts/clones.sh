# shellcheck shell=sh
# Sourced by the scripts that read clones of public repositories, for one rule
# where a clone stands.

# clone_of FOLDER OWNER/NAME prints the clone of a repository: OWNER/NAME,
# OWNER+NAME or NAME in the folder, or a folder "repo" in one of these. FOLDER is
# absolute. It fails if there is none.
clone_of() {
	for named in "$1/$2" "$1/${2%%/*}+${2#*/}" "$1/${2#*/}"; do
		for at in "$named" "$named/repo"; do
			# The ceiling: a repository around the folder is no clone of it.
			if GIT_CEILING_DIRECTORIES=${at%/*} git -C "$at" rev-parse --git-dir >/dev/null 2>&1; then
				printf '%s\n' "$at"
				return 0
			fi
		done
	done
	return 1
}
