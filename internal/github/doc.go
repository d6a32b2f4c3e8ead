// Package github is the App on GitHub: the only place where its tokens live,
// the reader of issues, runs and logs, and the publisher of a session's result
// (GH5, GH6, GH11).
//
// # Tokens
//
// The App signs in with its private key and asks for installation tokens that
// reach one repository and carry one phase's permissions: reading while the
// session investigates, writing only for the calls that publish, and contents
// alone for git. A token is cached until shortly before it expires, and asked
// for again when GitHub answers 401. Each new one is told to Config.OnToken
// before it is used, so that the redactor knows it; no error text holds one,
// and no request to another host carries one.
//
// # Calls
//
// Every call has a time limit. Calls that can be repeated without harm are
// repeated on 5xx and broken connections, with backoff; a POST is not, since
// it may have done its work. Errors are classified: ErrGone (give up),
// ErrForbidden (a permission is missing), ErrTransient (try again later), a
// *RateLimitError (try again after its time, without holding a worker).
//
// # Publishing
//
// A session is one comment, one check run, one branch and one pull request,
// whatever is killed and run again: each is looked for before it is made. The
// comment is known by a hidden marker in a comment of the App itself (others
// can copy a marker, not the author), the check run by its external ID, branch
// and pull request by name. Before each write the Fence is asked whether this
// worker still holds the job.
//
// Text that is published comes from package report and passes the redactor
// once more.
package github
