package workflow

import (
	"slices"
	"strings"

	"github.com/rhysd/actionlint"

	"culprit/internal/session"
)

// runner compares where the job runs with this machine, and sets the runner
// context.
func (w *walk) runner(j *actionlint.Job) {
	var labels []string
	if r := j.RunsOn; r != nil {
		for _, l := range r.Labels {
			if l != nil {
				labels = append(labels, w.labels(l.Value)...)
			}
		}
		if r.LabelsExpr != nil {
			labels = append(labels, w.labels(r.LabelsExpr.Value)...)
		}
		if r.Group != nil {
			w.differ(session.Difference{Kind: session.DiffHardware, There: "a runner of the group " + brief(r.Group.Value), Here: w.machine()})
		}
	}
	os, arch := "linux", "amd64"
	special, gpu := false, false
	for _, l := range labels {
		low := strings.ToLower(l)
		switch {
		case strings.HasPrefix(low, "windows"):
			os = "windows"
		case strings.HasPrefix(low, "macos"):
			os, arch = "darwin", "arm64"
			if strings.HasSuffix(low, "-13") || strings.HasSuffix(low, "-12") || strings.HasSuffix(low, "-large") || strings.Contains(low, "intel") {
				arch = "amd64"
			}
		}
		if strings.Contains(low, "arm") {
			arch = "arm64"
		}
		gpu = gpu || strings.Contains(low, "gpu") || strings.Contains(low, "cuda")
		special = special || gpu || low == "self-hosted"
	}
	if special {
		w.differ(session.Difference{Kind: session.DiffHardware, There: "a runner with the labels " + brief(strings.Join(labels, ", ")), Here: w.machine(), Blocks: gpu})
	}
	if len(labels) > 0 && !slices.Contains(labels, "self-hosted") {
		w.platform(labels[0], os, arch)
	}
	if os == "windows" && w.shell == "" {
		w.shell = "pwsh"
	}
	runner := map[string]any{}
	if old, ok := w.scope.contexts["runner"].(map[string]any); ok {
		for k, v := range old {
			runner[k] = v
		}
	}
	runner["os"] = map[string]string{"linux": "Linux", "windows": "Windows", "darwin": "macOS"}[os]
	runner["arch"] = map[string]string{"amd64": "X64", "arm64": "ARM64"}[arch]
	w.scope = w.scope.with("runner", runner)
	w.containers(j)
}

// labels of a runner, one or a list.
func (w *walk) labels(text string) []string {
	switch v := w.scope.whole(text).(type) {
	case unknown:
		w.missing([]unknown{v}, "runs-on", false)
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, toText(x))
		}
		return out
	default:
		if t := toText(v); t != "" {
			return []string{t}
		}
	}
	return nil
}

func (w *walk) platform(label, os, arch string) {
	switch {
	case w.Here.OS == "":
	case os != w.Here.OS:
		w.differ(session.Difference{Kind: session.DiffOS, There: brief(label), Here: w.machine(), Blocks: true})
	case arch != w.Here.Arch && w.Here.Arch != "":
		w.differ(session.Difference{Kind: session.DiffHardware, There: brief(label) + " (" + arch + ")", Here: w.Here.Arch, Blocks: true})
	case !sameRelease(label, w.Here.Name):
		w.differ(session.Difference{Kind: session.DiffOS, There: brief(label), Here: w.machine()})
	}
}

// sameRelease compares a label ("ubuntu-24.04") with a system's name ("Ubuntu
// 24.04.1 LTS"); "latest" says nothing of the release.
func sameRelease(label, name string) bool {
	distribution, release, _ := strings.Cut(strings.ToLower(label), "-")
	release, _, _ = strings.Cut(release, "-")
	low := strings.ToLower(name)
	return strings.Contains(low, distribution) && (release == "latest" || strings.Contains(low, release))
}

func (w *walk) machine() string {
	if w.Here.Name != "" {
		return w.Here.Name
	}
	return w.Here.OS
}

// containers lists the images of the job. None is run here.
func (w *walk) containers(j *actionlint.Job) {
	image := func(c *actionlint.Container) string {
		if c == nil || c.Image == nil {
			return ""
		}
		text, _ := w.scope.text(c.Image.Value)
		return brief(text)
	}
	if i := image(j.Container); i != "" {
		w.differ(session.Difference{Kind: session.DiffContainer, There: "in the container " + i, Here: "on the machine itself"})
	}
	if j.Services == nil {
		return
	}
	names := make([]string, 0, len(j.Services.Value))
	for n := range j.Services.Value {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		s := j.Services.Value[n]
		if s == nil {
			continue
		}
		what := "the service " + n
		if i := image(s.Container); i != "" {
			what += " (" + i + ")"
		}
		w.differ(session.Difference{Kind: session.DiffService, There: what, Here: "none", Blocks: true})
	}
}
