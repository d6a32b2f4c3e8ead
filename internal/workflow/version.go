package workflow

import (
	"regexp"
	"strconv"
	"strings"
)

// tools are the actions that install a tool, the inputs that name its version,
// in the order in which the action looks at them, and the files that such an
// input may point to.
var tools = map[string]struct {
	tool   string // program whose version is compared
	name   string // as people call it
	inputs []string
	files  []string
}{
	"actions/setup-go":                       {"go", "Go", []string{"go-version"}, []string{"go-version-file"}},
	"actions/setup-node":                     {"node", "Node.js", []string{"node-version"}, []string{"node-version-file"}},
	"actions/setup-python":                   {"python3", "Python", []string{"python-version"}, []string{"python-version-file"}},
	"actions/setup-java":                     {"java", "Java", []string{"java-version"}, []string{"java-version-file"}},
	"actions/setup-dotnet":                   {"dotnet", ".NET", []string{"dotnet-version"}, nil},
	"ruby/setup-ruby":                        {"ruby", "Ruby", []string{"ruby-version"}, nil},
	"shivammathur/setup-php":                 {"php", "PHP", []string{"php-version"}, nil},
	"erlef/setup-beam":                       {"elixir", "Elixir", []string{"elixir-version"}, nil},
	"dtolnay/rust-toolchain":                 {"rustc", "Rust", []string{"toolchain"}, nil},
	"actions-rs/toolchain":                   {"rustc", "Rust", []string{"toolchain"}, nil},
	"actions-rust-lang/setup-rust-toolchain": {"rustc", "Rust", []string{"toolchain"}, nil},
	"pnpm/action-setup":                      {"pnpm", "pnpm", []string{"version"}, nil},
	"oven-sh/setup-bun":                      {"bun", "Bun", []string{"bun-version"}, nil},
	"denoland/setup-deno":                    {"deno", "Deno", []string{"deno-version"}, nil},
	"astral-sh/setup-uv":                     {"uv", "uv", []string{"version"}, nil},
	"swift-actions/setup-swift":              {"swift", "Swift", []string{"swift-version"}, nil},
	"gradle/actions/setup-gradle":            {"gradle", "Gradle", []string{"gradle-version"}, nil},
	"gradle/gradle-build-action":             {"gradle", "Gradle", []string{"gradle-version"}, nil},
	"stcarrez/setup-maven":                   {"mvn", "Maven", []string{"maven-version"}, nil},
}

// harmless actions prepare nothing that a test could need: caches, what is
// published afterwards, the runner's own housekeeping.
var harmless = map[string]bool{
	"actions/cache": true, "actions/cache/restore": true, "actions/cache/save": true, "actions/upload-artifact": true,
	"swatinem/rust-cache": true, "codecov/codecov-action": true, "coverallsapp/github-action": true, "step-security/harden-runner": true,
	"actions/labeler": true, "actions/stale": true, "actions/github-script": true, "dorny/test-reporter": true, "mikepenz/action-junit-report": true,
	"gradle/wrapper-validation-action": true, "gradle/actions/wrapper-validation": true, "styfle/cancel-workflow-action": true,
	"test-summary/action": true, "github/codeql-action/init": true, "github/codeql-action/analyze": true, "rui314/setup-mold": true,
	"taiki-e/install-action": true, "crazy-max/ghaction-github-runtime": true, "actions/dependency-review-action": true,
}

// versionLine finds the version in what `tool --version` prints.
var versionLine = regexp.MustCompile(`\d+(?:\.\d+)*`)

// FindVersion is the first version number in the output of a tool that was
// asked for it; "" when there is none.
func FindVersion(output string) string { return versionLine.FindString(output) }

// satisfies reports whether a version fits what was asked for: "1.22" fits
// 1.22.5, "20.x" fits 20.11.0, ">=18" fits 20. known is false for what names no
// version, such as stable and lts/*.
func satisfies(asked, have string) (fits, known bool) {
	asked = strings.ToLower(strings.TrimSpace(asked))
	for range 3 {
		asked = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(asked, "v"), "="))
	}
	min, isMin := strings.CutPrefix(asked, ">=")
	if !isMin {
		min, isMin = strings.CutPrefix(asked, ">")
	}
	if isMin {
		low, _, _ := strings.Cut(strings.TrimLeft(min, "= "), " ")
		if versionLine.FindString(low) == "" {
			return false, false
		}
		return order(have, versionLine.FindString(low)) >= 0, true
	}
	caret := strings.HasPrefix(asked, "^")
	want := strings.TrimLeft(asked, "^~ ")
	if want == "" || want[0] < '0' || want[0] > '9' {
		return false, false
	}
	if i := strings.IndexAny(want, "x*"); i > 0 {
		want = want[:i]
	}
	want = strings.TrimRight(versionLine.FindString(want), ".")
	if caret {
		want, _, _ = strings.Cut(want, ".")
	}
	// Java calls version 8 "1.8".
	return have == want || strings.HasPrefix(have, want+".") || strings.HasPrefix(have, "1."+want+".") && want == "8", true
}

// order compares versions number by number.
func order(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var p, q int
		if i < len(x) {
			p, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			q, _ = strconv.Atoi(y[i])
		}
		if p != q {
			if p < q {
				return -1
			}
			return 1
		}
	}
	return 0
}
