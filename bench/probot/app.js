// A minimal Probot app: each delivery is verified by Probot, and, unless
// STORE=none, kept in Redis before it is answered. One MULTI notes the
// delivery's GUID and pushes what a worker would need.
import { run } from "probot";
import Redis from "ioredis";

const store = process.env.STORE !== "none";
const redis = store ? new Redis(process.env.REDIS_URL) : null;

const app = (probot) => {
  probot.on(
    ["workflow_run.completed", "check_suite.completed", "check_run.completed", "issues.labeled"],
    async ({ id, name, payload }) => {
      if (!store) return;
      const run = payload.workflow_run ?? payload.check_suite ?? payload.check_run;
      const job = {
        delivery: id,
        event: name,
        installation: payload.installation.id,
        repository: payload.repository.full_name,
        sha: run?.head_sha,
        issue: payload.issue?.number,
      };
      const results = await redis.multi().hset("deliveries", id, 1).lpush("jobs", JSON.stringify(job)).exec();
      for (const [error] of results) if (error) throw error;
    },
  );
};

const server = await run(app);
process.on("SIGTERM", () => server.stop().finally(() => process.exit(0)));
