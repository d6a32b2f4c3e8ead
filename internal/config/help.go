package config

import (
	"fmt"
	"slices"
	"strings"
)

// Help lists the settings of a command for a terminal.
func Help(cmd Command) string {
	var b strings.Builder
	for _, s := range rows(cmd) {
		name := "    " + s.env
		if s.flag != "" {
			name = "  --" + s.flag + "  (" + s.env + ")"
		}
		fmt.Fprintf(&b, "%s\n      %s", name, s.help)
		if s.def != "" {
			fmt.Fprintf(&b, " [%s]", s.def)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Markdown is the table of docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| environment | flag | default | what it is | serve | work |\n|---|---|---|---|---|---|\n")
	for _, s := range slices.Concat(settings, modelSettings) {
		flag, def, work := "", "", "yes"
		if s.flag != "" {
			flag = "`--" + s.flag + "`"
		}
		if s.def != "" {
			def = "`" + s.def + "`"
		}
		if s.serveOnly {
			work = ""
		}
		help := s.help
		if s.secret {
			help += " (secret: never printed)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | yes | %s |\n", s.env, flag, def, help, work)
	}
	return b.String()
}
