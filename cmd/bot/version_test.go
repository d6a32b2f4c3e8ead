package main

import (
	"runtime/debug"
	"testing"
)

func TestTheVersionNamesTheCommit(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct{ module, vcs, linked, want string }{
		{"(devel)", "", "", "development"},
		{"(devel)", commit, "", "development 0123456789ab"},
		{"(devel)", "", "0123456789ab", "development 0123456789ab"},
		{"(devel)", "", "0123456789ab-dirty", "development 0123456789ab-dirty"},
		{"v1.2.0", commit, "", "v1.2.0 0123456789ab"},
		{"v0.0.0-20261130120000-0123456789ab", commit, "", "v0.0.0-20261130120000-0123456789ab"},
		{"", "", "short", "development"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tt.module}}
		if tt.vcs != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: tt.vcs}}
		}
		if got := version(info, tt.linked); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
