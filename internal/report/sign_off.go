package report

import "strings"

// SignOff adds the trailer of the Developer Certificate of Origin to a commit
// message, to its last paragraph when that has trailers already.
func SignOff(message, name, email string) string {
	message = strings.TrimRight(message, "\n")
	last := message[strings.LastIndexByte(message, '\n')+1:]
	key, _, ok := strings.Cut(last, ": ")
	gap := "\n\n"
	if ok && !strings.Contains(key, " ") && strings.Contains(message, "\n\n"+last) {
		gap = "\n"
	}
	return message + gap + "Signed-off-by: " + line(name) + " <" + line(email) + ">\n"
}
