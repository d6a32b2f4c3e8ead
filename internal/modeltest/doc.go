// Package modeltest is a server that speaks the OpenAI API's chat completions
// and answers from a script. It is what the model layer is tested against, and
// what `bot demo --model-script` uses instead of a model.
//
// The wire format is not what our own client happens to send: requests and
// answers are held against the schemas of the public description of that API
// (chat.schema.json, reduced from github.com/openai/openai-openapi, MIT), and
// what the description cannot say but the real server refuses is refused here
// too (validate.go): a tool message that answers no call, calls left without
// an answer, an unknown argument, a strict schema that is not strict, a tool
// choice without tools. Two clients that others wrote are run against it in
// the tests.
//
// A script is a YAML file, a Scenario: rules in order, each of which says what
// was asked (When) and what is answered (Answer) or what goes wrong (Fault).
// The first rule that fits answers; one with Times is used that often and then
// passed over. A request that no rule fits is refused with a message that says
// what was asked, so that a script can be mended without a debugger.
//
// Nothing here waits for the clock unless the script says so: Hold keeps an
// answer back until the test calls Release.
package modeltest
