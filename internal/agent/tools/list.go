package tools

import (
	"context"
	"fmt"
	"path"
	"sort"
	"strings"
)

// maxListed entries are shown at a time.
const maxListed = 400

func (d *Desk) list() Tool {
	return typed(Tool{
		Name:        "list",
		Description: "Lists the files under a folder of the repository. Folders end in a slash and say how many files are in them. With depth 0 the files of all folders below are listed.",
		Parameters: object(map[string]Schema{
			"folder?": text("folder relative to the repository's root; empty: the root"),
			"depth?":  number("levels of folders to show; default 1, 0: all", 0, 20),
		}),
	}, func(ctx context.Context, a struct {
		Folder string
		Depth  *int
	}) (Result, error) {
		folder := ""
		if a.Folder != "" && a.Folder != "." && a.Folder != "/" {
			p, err := clean(a.Folder)
			if err != nil {
				return Result{}, err
			}
			folder = p + "/"
		}
		files, err := d.files(ctx)
		if err != nil {
			return Result{}, err
		}
		depth := 1
		if a.Depth != nil {
			depth = *a.Depth
		}
		lines, n := listing(files, folder, depth)
		if n == 0 {
			return Result{}, fmt.Errorf("there is no folder %q with files in it: list the root to see what is there", strings.TrimSuffix(folder, "/"))
		}
		r := Result{Text: strings.Join(lines[:min(len(lines), maxListed)], "\n"), Note: fmt.Sprintf("[%d files in all]", n)}
		if len(lines) > maxListed {
			r.Note = fmt.Sprintf("[%d of %d entries are shown; name a folder to see fewer]", maxListed, len(lines))
		}
		return r, nil
	})
}

// files of the commit and of the edits.
func (d *Desk) files(ctx context.Context) ([]string, error) {
	files, err := d.Repo.List(ctx, d.Base.Rev)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, f := range files {
		known[f] = true
	}
	for p, e := range d.overlaid() {
		known[p] = !e.Delete
	}
	out := make([]string, 0, len(known))
	for f, there := range known {
		if there {
			out = append(out, f)
		}
	}
	sort.Strings(out)
	return out, nil
}

// listing shows what lies under folder down to a depth; n counts its files.
func listing(files []string, folder string, depth int) (lines []string, n int) {
	folders := map[string]int{}
	for _, f := range files {
		rest, ok := strings.CutPrefix(f, folder)
		if !ok {
			continue
		}
		n++
		parts := strings.Split(rest, "/")
		if depth == 0 || len(parts) <= depth {
			lines = append(lines, f)
			continue
		}
		folders[folder+path.Join(parts[:depth]...)+"/"]++
	}
	for f, count := range folders {
		lines = append(lines, fmt.Sprintf("%s (%d files)", f, count))
	}
	sort.Strings(lines)
	return lines, n
}
