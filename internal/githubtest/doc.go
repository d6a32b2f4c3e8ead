// Package githubtest is a GitHub that runs on loopback: the part of the REST
// API that a GitHub App for debugging needs, signed webhooks, git over smart
// HTTP, and a plain web page of what happened. It serves tests and
// `bot demo`, so that the product's client, its webhook edge and its git
// traffic meet real HTTP, real signatures and real git instead of mocks.
//
// # Contract
//
// It is written from GitHub's REST description (the OpenAPI document that npm
// ships as @octokit/openapi 23.0.2) and from GitHub's public webhook examples
// (@octokit/webhooks-examples 7.6.1), not from what one client happens to send. An answer carries all fields that
// the description requires, errors have GitHub's form (message, errors,
// documentation_url), and writes are checked as GitHub checks them. Every test
// that starts a server through internal/conformance holds all of that against
// the description.
//
// Where GitHub's rule depends on things that a test cannot see, this package
// takes the stricter reading: an installation token needs the permission that
// the endpoint documents even on a public repository, and a token that was
// narrowed to other repositories sees a private one as 404.
//
// State lives in memory, guarded by one mutex; git repositories are bare
// folders on disk. Webhooks leave in the order of their causes, one at a time
// for each App, so that a test which drives the server sees a reproducible order; GitHub
// itself promises none, and Redeliver makes duplicates and other orders.
//
// # Use
//
//	gh, err := githubtest.New(githubtest.Options{})
//	defer gh.Close()
//	app, err := gh.CreateApp(githubtest.AppConfig{WebhookURL: bot.URL + "/webhook"})
//	gh.CreateOrg("octo")
//	gh.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "calc"})
//	gh.ImportGit("octo/calc", "/path/of/a/clone", "main")
//	inst, err := gh.Install(app.ID, "octo")
//	run, err := gh.CompleteRun(githubtest.RunConfig{Repo: "octo/calc", Jobs: ...})
//	gh.WaitDeliveries(ctx)
//	comments, err := gh.Comments("octo/calc", 1)
//
// The API is served at the root and under /api/v3 (APIURL), as on GitHub
// Enterprise Server, so that go-github's WithEnterpriseURLs and the BaseURL of
// ghinstallation both work.
package githubtest
