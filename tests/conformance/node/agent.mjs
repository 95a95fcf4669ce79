// An agent in JavaScript with nothing but Node: it sends the bodies that the published TypeScript SDK sends, which leave
// out what is undefined, and signs as the protocol says. `node agent.mjs` serves on a free port and prints it;
// REBUNO_URL, REBUNO_AGENT_ID and REBUNO_AGENT_SECRET say where the kernel is and who this is.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const { REBUNO_URL: kernel, REBUNO_AGENT_ID: agentId, REBUNO_AGENT_SECRET: secret } = process.env;

const hmac = (...parts) => {
  const made = createHmac("sha256", secret);
  for (const part of parts) made.update(part);
  return made.digest("hex");
};

class Refused extends Error {
  constructor(decision) {
    super(decision.reason ?? decision.decision);
    this.decision = decision;
  }
}

// One delivery of an execution.
class Run {
  constructor(told) {
    this.id = told.execution_id;
    this.dispatch = { "Rebuno-Dispatch-Id": told.dispatch_id, "Rebuno-Dispatch-Attempt": String(told.dispatch_attempt) };
  }

  async send(method, path, said) {
    const body = said === undefined ? "" : JSON.stringify(said);
    const target = `/v0/executions/${path}`;
    const at = String(Math.floor(Date.now() / 1000));
    const fields = ["rebuno-request-v1", method, target, at, ...Object.values(this.dispatch)];
    const headers = {
      "Content-Type": "application/json",
      "Rebuno-Agent-Id": agentId,
      "Rebuno-Timestamp": at,
      "Rebuno-Signature": `v1=${hmac(fields.map((field) => `${field}\n`).join(""), body)}`,
      ...this.dispatch,
    };
    const answer = await fetch(kernel + target, { method, headers, body: method === "GET" ? undefined : body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  submit(step) {
    return this.send("POST", `${this.id}/steps`, step);
  }

  // Runs `body` once, or gives what it gave before.
  async tool(target, args, body, idempotency = "safe_to_retry") {
    const decision = await this.submit({ kind: "tool_call", target, args, idempotency });
    if (decision.decision === "replay") {
      if (decision.error != null) throw new Error(decision.error.message);
      return decision.result;
    }
    if (decision.decision !== "proceed") throw new Refused(decision);
    const step = `${this.id}/steps/${decision.step_id}`;
    let result;
    try {
      result = await body(args);
    } catch (error) {
      await this.send("POST", `${step}/fail`, { error: { message: error.message } });
      throw error;
    }
    await this.send("POST", `${step}/complete`, { result });
    return result;
  }
}

const handlers = {
  // Gives nothing, and its tool neither.
  async nothing(run) {
    await run.tool("add", undefined, () => undefined);
  },
  // Leaves out whatever can be left out.
  async bare(run) {
    const { step_id } = await run.submit({ kind: "tool_call", target: "add" });
    await run.send("POST", `${run.id}/steps/${step_id}/fail`, {});
    await run.send("POST", `${run.id}/fail`, {});
    return run;
  },
  async failing(run) {
    await run.tool("broken", { n: 1 }, () => {
      throw new Error("no such file");
    });
  },
  // Asks a person between two tools; what the first gave stays.
  async asking(run) {
    const first = await run.tool("add", { a: 1 }, () => Math.random());
    const paid = await run.tool("pay", { amount: 2 }, () => "paid", "at_most_once");
    const again = await run.tool("add", { a: 2 }, () => undefined);
    return { first, paid, again, kept: first === (await run.send("GET", `${run.id}/steps`)).find((s) => s.args.a === 1).result };
  },
  async refused(run) {
    try {
      await run.tool("mail", { to: "ana" }, () => "sent");
    } catch (error) {
      return { decision: error.decision.decision, reason: error.decision.reason, rule: error.decision.rule_id };
    }
  },
  // Writes its execution's id in capitals, as some UUID libraries do.
  async capitals(run) {
    run.id = run.id.toUpperCase();
    const sum = await run.tool("add", { a: 1, b: 2 }, ({ a, b }) => a + b);
    await run.send("POST", `${run.id}/heartbeat`);
    return { sum, suspended: (await run.send("POST", `${run.id}/suspend`)).suspended };
  },
};

async function handle(told) {
  const run = new Run(told);
  const execution = await run.send("GET", run.id);
  if (["completed", "failed", "cancelled"].includes(execution.status)) return;
  let output;
  try {
    output = await handlers[execution.input.handler](run);
  } catch (error) {
    // A person is asked: the kernel delivers the execution again.
    if (error instanceof Refused && error.decision.decision.endsWith("blocked")) return;
    await run.send("POST", `${run.id}/fail`, { error: error.message });
    return;
  }
  if (output !== run) await run.send("POST", `${run.id}/complete`, { output });
}

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces);
  const expected = Buffer.from(`sha256=${hmac(body)}`);
  const given = Buffer.from(request.headers["rebuno-signature"] ?? "");
  const known = expected.length === given.length && timingSafeEqual(expected, given);
  response.writeHead(known ? 200 : 401).end();
  if (known) handle(JSON.parse(body)).catch((error) => console.error(error));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
