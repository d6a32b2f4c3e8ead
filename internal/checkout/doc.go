// Package checkout reads repositories and makes worktrees of them, by running
// git. It never changes the repository that it is given, not even its list of
// worktrees, and it is safe against repositories made to attack their reader
// (feature BX5).
//
// How it is built:
//
//   - A Cache is a folder with one private bare mirror for each repository. A
//     local repository's objects are hard-linked into it (copied across file
//     systems), a remote one is fetched. Everything else happens in the mirror.
//   - A Tree is a worktree that borrows the mirror's objects. Its git metadata
//     lie outside the folder with the files: code that runs in the worktree finds
//     no .git to read or to poison, and a .git that it makes is never used.
//   - Every git process goes through one executor with a fixed environment and
//     fixed configuration: no system or user configuration, no hooks, no file
//     system monitor, no filters (Git LFS pointers stay pointers), no submodules,
//     no protocol but http and https and these only for fetch and push. A
//     credential is in the environment of that one process and nowhere else.
//   - Revisions are resolved to full commit IDs before they are used, paths are
//     literal and read with NUL separators, so names that look like options,
//     patterns or that are not UTF-8 are ordinary names.
//
// Locks are advisory file locks, which the kernel drops when a process dies:
// what a killed process left (a torn mirror, stale lock files, worktrees) is
// found and removed when the cache is used next, and a living process's is kept.
//
// Submodules are not fetched: their folders stay empty, see Facts.
package checkout
