// Package conformance holds the loopback GitHub of our tests, and what the bot
// says to it, against GitHub's own description.
//
// internal/githubtest is written by hand. A mistake in it would be invisible:
// the bot and its double would agree with one another and not with GitHub. So
// each test that starts a loopback GitHub starts it here, and everything that
// crosses the wire is checked: the path, query and body of each request, the
// status and body of each answer, and each webhook payload. A violation fails
// the test in whose server it happened.
//
// # The description
//
// It is the OpenAPI document that GitHub publishes, as npm ships it
// (@octokit/openapi); its x-webhooks hold the payloads too. With the public
// webhook examples (@octokit/webhooks-examples) it is fetched by
// `make openapi`, pinned by version and integrity hash (pins.go), and never
// committed. It is 13 MB large and slow to read, so that the installation
// cuts it into a zip file of small JSON Schemas (convert.go): a test process
// opens the file and compiles only the schemas that it meets.
//
// Where the file is missing, tests run unchecked and say so; with
// CULPRIT_REQUIRE=all they fail.
//
// # What is checked, and what is not
//
// A request that our code sends must be right even where GitHub would be
// lenient: unknown query parameters and unknown fields of the body are
// violations. Answers that a test made up (githubtest.Fault) are not
// checked, git's own traffic neither. The description leaves out many error
// statuses; those must at least have the form of GitHub's errors.
package conformance
