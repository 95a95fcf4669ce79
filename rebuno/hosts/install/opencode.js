// Rebuno: asks the policy before every call of a tool. Planted by `rebuno hook install opencode`, which overwrites it.
import { spawn } from "node:child_process"

const settings = __SETTINGS__

// The answer of rebuno-hook to one event. Whatever goes wrong is an error: a call runs after a clear answer only.
const ask = (event) =>
  new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`Rebuno gave no answer (${why}), so the call does not run. ${settings.wayOut}`))
    // A relative folder in PYTHONPATH is the project's, whose modules could end the hook before it begins.
    const { PYTHONPATH, PYTHONHOME, ...env } = process.env
    const child = spawn(settings.program, settings.args, { stdio: ["pipe", "pipe", "pipe"], env })
    const late = setTimeout(() => child.kill("SIGKILL"), settings.timeout)
    let [out, said] = ["", ""]
    child.stdout.setEncoding("utf8").on("data", (text) => (out += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (said += text))
    child.stdin.on("error", () => {})
    child.on("error", (error) => fail(error.message))
    child.on("close", (code, signal) => {
      clearTimeout(late)
      if (code === 2 && said.trim()) return reject(new Error(said.trim()))
      if (code !== 0) return fail(signal ? `killed by ${signal}` : `exit code ${code}`)
      try {
        resolve(out.trim() ? JSON.parse(out) : {})
      } catch {
        fail("what it printed is not JSON")
      }
    })
    child.stdin.end(JSON.stringify(event))
  })

export const Rebuno = async ({ client, directory }) => {
  const started = Date.now()
  const sessions = new Map()
  const expanded = new Set()
  const refused = new Set()
  let servers = []

  // What OpenCode knows of a session. A subagent's session has a parent; the first of them is the user's own.
  const lookUp = async (session) => {
    const found = await client.session.get({ path: { id: session } })
    if (!found.data) throw new Error(`Rebuno cannot look up the session ${session}`)
    const above = found.data.parentID
    const parent = above ? ((await begin(above)).parent ?? above) : undefined
    const place = { session, directory, ...(parent && { parent }) }
    await ask({ ...place, event: found.data.time.created < started ? "session.resumed" : "session.created" })
    return place
  }
  const begin = (session) => {
    if (!sessions.has(session)) {
      const place = lookUp(session)
      sessions.set(session, place)
      place.catch(() => sessions.delete(session))
    }
    return sessions.get(session)
  }
  const send = async (session, event) => ask({ ...(await begin(session)), servers, ...event })
  // Of an event after which nothing runs, a failure is logged.
  const tell = async (session, event) => {
    try {
      await send(session, event)
    } catch (error) {
      await client.app.log({ body: { service: "rebuno", level: "error", message: String(error) } }).catch(() => {})
    }
  }

  return {
    config: async (config) => {
      servers = Object.keys(config.mcp ?? {})
    },
    "tool.execute.before": async (input, output) => {
      const event = { event: "tool.execute.before", call: input.callID, tool: input.tool, args: output.args ?? {} }
      try {
        const answer = await send(input.sessionID, event)
        if (answer.decision !== "allow") throw new Error(answer.reason || `Rebuno did not allow it. ${settings.wayOut}`)
      } catch (error) {
        if (settings.observe) return
        refused.add(input.callID)
        throw error
      }
    },
    "tool.execute.after": async (input, output) => {
      const event = { event: "tool.execute.after", call: input.callID, tool: input.tool, args: input.args ?? {} }
      await tell(input.sessionID, { ...event, output: typeof output?.output === "string" ? output.output : output })
    },
    "command.execute.before": async (input) => {
      expanded.add(input.sessionID)
    },
    "chat.message": async (input, output) => {
      const parts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const text = parts.map((part) => part.text).join("\n")
      const typed = !expanded.delete(input.sessionID)
      if (text.trim()) await tell(input.sessionID, { event: "chat.message", text, typed })
    },
    event: async ({ event }) => {
      const { part, info } = event.properties ?? {}
      const failed = event.type === "message.part.updated" && part?.type === "tool" && part.state.status === "error"
      // Of a call that was interrupted nobody knows how far it came.
      if (failed && !part.state.metadata?.interrupted && !refused.delete(part.callID) && sessions.has(part.sessionID)) {
        const call = { call: part.callID, tool: part.tool, args: part.state.input ?? {} }
        await tell(part.sessionID, { event: "tool.execute.after", ...call, error: String(part.state.error) })
      }
      if (event.type === "session.deleted" && sessions.has(info?.id)) {
        await tell(info.id, { event: "session.deleted" })
        sessions.delete(info.id)
      }
    },
  }
}
