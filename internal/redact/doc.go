// Package redact takes secrets out of everything that is stored, sent to a
// model or published (BX5). Each becomes [REDACTED:kind].
//
// Two nets, one behind the other:
//
//   - The exact values of the secrets that the process holds, in the encodings
//     that occur in logs and files: as they are, base64 in both alphabets and
//     at any alignment (so inside a Basic header too), hexadecimal, URL, JSON,
//     HTML and shell quoting, wrapped over lines, and a private key line by
//     line.
//   - The shapes of well-known tokens (GitHub, AWS, Slack, JWT, PEM private
//     keys, …), for secrets that belong to others. The table is in shapes.go.
//     A shape must be distinctive: commit IDs, checksums, UUIDs and ordinary
//     code are left alone, and a test counts what is taken from a large body
//     of code by mistake.
//
// Redacting is idempotent, and valid JSON stays valid JSON. The writer holds
// back what may be the beginning of a secret, so that none gets through in
// pieces, however the stream is cut.
//
// What it cannot do: a secret that somebody transforms on purpose (reversed,
// encrypted, one character a line) gets through. The defence against that is
// that what runs foreign code never holds a secret.
package redact
