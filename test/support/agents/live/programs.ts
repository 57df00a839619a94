/** Agents of the command line, at pinned versions from npm: how each is installed, told of the gateway, and run. */
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { signal, treeOf } from "../../../../scripts/processTree.ts"
import type { JsonObject } from "../../../../src/domain/json/json.ts"
import { type Keeps, liveModel } from "./liveScene.ts"
import { type LiveHost, liveHosts, type ToCall } from "./orderedHosts.ts"

const cache = join(resolve(import.meta.dir, "../../../.."), "node_modules/.cache/agents")

/** A place for one session: the agent's home and its project. */
export interface Place {
  readonly home: string
  readonly project: string
  readonly origin: string
  readonly key: string
}

export interface Program {
  readonly package: string
  readonly binary: string
  readonly reads: (path: string) => Omit<ToCall, "id">
  readonly writes: (path: string, text: string) => Omit<ToCall, "id">
  /** Files of its configuration, by their path in the home folder. */
  readonly files: (place: Place) => Readonly<Record<string, string>>
  readonly environment: (place: Place) => Readonly<Record<string, string>>
  readonly command: (model: string, prompt: string, isResumed: boolean) => ReadonlyArray<string>
  readonly keeps: Keeps
  /** Whether its models think before their answers alone: it loses thinking that comes later in one. */
  readonly thinksFirst: boolean
  /** Whether a request with these lines asks for a summary of the conversation. Absent: it is not tried with long ones. */
  readonly isSummary?: (lines: ReadonlyArray<string>) => boolean
}

const last = (lines: ReadonlyArray<string>): string => lines.at(-1) ?? ""

/** `settings`: of its own file. */
const claude = (settings: JsonObject): Program => ({
  package: "@anthropic-ai/claude-code@2.1.332",
  binary: "claude",
  keeps: "everything",
  thinksFirst: false,
  reads: (path) => ({ name: "Read", input: { file_path: path } }),
  writes: (path, text) => ({ name: "Write", input: { file_path: path, content: text } }),
  files: () => ({ ".claude/settings.json": JSON.stringify(settings) }),
  environment: ({ origin, key }) => ({
    ANTHROPIC_BASE_URL: `${origin}/api`,
    ANTHROPIC_AUTH_TOKEN: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "200000",
  }),
  command: (model, prompt, isResumed) => [
    ...["--model", model, "--allowedTools", "Read", "Write", ...(isResumed ? ["--continue"] : [])],
    ...["-p", prompt],
  ],
  isSummary: (lines) => last(lines).includes("create a detailed summary of the conversation"),
})

const shell = (command: string) => ({ name: "exec_command", input: { cmd: command } })

const codex: Program = {
  package: "@openai/codex@0.171.0",
  binary: "codex",
  keeps: "everything",
  thinksFirst: false,
  reads: (path) => shell(`cat ${path}`),
  writes: (path, text) => shell(`printf '%s' '${text}' > ${path}`),
  files: ({ origin }) => ({
    ".codex/config.toml": [
      'model_provider = "headgate"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      'model_reasoning_effort = "high"',
      'model_reasoning_summary = "auto"',
      "model_supports_reasoning_summaries = true",
      "model_context_window = 200000",
      "model_auto_compact_token_limit = 150000",
      "check_for_update_on_startup = false",
      "[analytics]",
      "enabled = false",
      "[model_providers.headgate]",
      'name = "Headgate"',
      `base_url = "${origin}/api/v1"`,
      'env_key = "HEADGATE_API_KEY"',
      'wire_api = "responses"',
    ].join("\n"),
  }),
  environment: ({ key }) => ({ HEADGATE_API_KEY: key }),
  command: (model, prompt, isResumed) => [
    ...["exec", ...(isResumed ? ["resume", "--last"] : []), "--skip-git-repo-check", "-m", model, prompt],
  ],
  isSummary: (lines) => last(lines).includes("CONTEXT CHECKPOINT COMPACTION"),
}

/** opencode by one of the AI SDK's packages; `options`: of its models, to have them think. */
const opencode = (npm: string, keeps: Keeps, options: JsonObject): Program => ({
  package: "opencode-ai@1.18.33",
  binary: "opencode",
  keeps,
  thinksFirst: npm === "@openrouter/ai-sdk-provider",
  reads: (path) => ({ name: "read", input: { filePath: path } }),
  writes: (path, text) => ({ name: "write", input: { content: text, filePath: path } }),
  files: ({ origin }) => ({
    ".config/opencode/opencode.json": JSON.stringify({
      autoupdate: false,
      share: "disabled",
      permission: { "*": "allow" },
      provider: {
        headgate: {
          npm,
          name: "Headgate",
          options: { baseURL: `${origin}/api/v1`, apiKey: "{env:HEADGATE_API_KEY}" },
          models: Object.fromEntries(
            liveHosts.map((host) => [
              liveModel(host),
              {
                reasoning: true,
                tool_call: true,
                limit: { context: 200_000, output: 32_000 },
                options,
              },
            ]),
          ),
        },
      },
    }),
  }),
  environment: ({ key }) => ({
    HEADGATE_API_KEY: key,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_SHARE: "1",
  }),
  command: (model, prompt, isResumed) => [
    ...["run", "-m", `headgate/${model}`, ...(isResumed ? ["--continue"] : []), prompt],
  ],
  isSummary: (lines) => /summar/i.test(last(lines)) && /anchored|compact|continu/i.test(lines.join("\n")),
})

const geminiCli: Program = {
  package: "@google/gemini-cli@0.61.0",
  binary: "gemini",
  keeps: "calls",
  thinksFirst: false,
  reads: (path) => ({ name: "read_file", input: { file_path: path } }),
  writes: (path, text) => ({ name: "write_file", input: { file_path: path, content: text } }),
  files: () => ({
    ".gemini/settings.json": JSON.stringify({
      general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      security: { auth: { selectedType: "gemini-api-key" } },
      // Of models that it does not know it asks no thoughts.
      modelConfigs: {
        customAliases: Object.fromEntries(
          liveHosts.map((host) => [
            liveModel(host),
            { extends: "chat-base-2.5", modelConfig: { model: liveModel(host) } },
          ]),
        ),
      },
    }),
  }),
  environment: ({ origin, key }) => ({ GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: `${origin}/api` }),
  command: (model, prompt, isResumed) => [
    ...["--skip-trust", "-y", "-m", model, ...(isResumed ? ["--resume", "latest"] : []), "-p", prompt],
  ],
}

export const programs: Readonly<Record<string, Program>> = {
  "claude-code": claude({}),
  "claude-code-shown": claude({ showThinkingSummaries: true }),
  codex,
  "opencode-chat": opencode("@ai-sdk/openai-compatible", "texts", { reasoningEffort: "high" }),
  "opencode-messages": opencode("@ai-sdk/anthropic", "signed", { thinking: { type: "enabled", budgetTokens: 8000 } }),
  "opencode-responses": opencode("@ai-sdk/openai", "signed", { reasoningEffort: "high", reasoningSummary: "auto" }),
  "opencode-router": opencode("@openrouter/ai-sdk-provider", "signed", { reasoning: { effort: "high" } }),
  "gemini-cli": geminiCli,
}

export const packages: ReadonlyArray<string> = [...new Set(Object.values(programs).map((program) => program.package))]

/** Where the packages are; why they cannot be installed. Packages of the same versions are installed once. */
export const installed = async (
  packages: ReadonlyArray<string>,
): Promise<{ readonly folder?: string; readonly why: string }> => {
  const folder = join(cache, Bun.hash(packages.join(" ")).toString(36))
  if (existsSync(join(folder, "installed"))) return { folder, why: "" }
  await mkdir(folder, { recursive: true })
  await Bun.write(join(folder, "package.json"), '{"private":true}')
  const run = await ranWithin(["npm", "install", "--no-audit", "--no-fund", ...packages], {
    cwd: folder,
    env: { ...process.env },
    seconds: 900,
  })
  if (run.code !== 0) return { why: run.said.slice(-600) }
  await Bun.write(join(folder, "installed"), "")
  return { folder, why: "" }
}

export interface Ran {
  /** `null`: it took too long, and was ended. */
  readonly code: number | null
  readonly said: string
}

/** Runs a command; after so many seconds it is ended with all that it started. */
const ranWithin = async (
  command: ReadonlyArray<string>,
  {
    cwd,
    env,
    seconds,
  }: { readonly cwd: string; readonly env: Record<string, string | undefined>; readonly seconds: number },
): Promise<Ran> => {
  const run = Bun.spawn([...command], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" })
  const late = Promise.withResolvers<Ran>()
  const timer = setTimeout(() => {
    for (const pid of treeOf(run.pid).toReversed()) signal(pid, "SIGKILL")
    late.resolve({ code: null, said: "" })
  }, seconds * 1000)
  const ended = Promise.all([run.exited, new Response(run.stdout).text(), new Response(run.stderr).text()])
  // A process that it has left behind would keep its output open.
  const ran = await Promise.race([
    ended.then(([code, out, err]): Ran => ({ code, said: `${out}\n${err}` })),
    late.promise,
  ])
  clearTimeout(timer)
  return ran
}

/** A home and a project of their own, which are removed after `use`. */
export const inPlace = async <A>(
  program: Program,
  { origin, key }: Pick<Place, "origin" | "key">,
  use: (place: Place) => Promise<A>,
): Promise<A> => {
  const root = await mkdtemp(join(tmpdir(), "agent-"))
  const place = { home: join(root, "home"), project: join(root, "project"), origin, key }
  try {
    await mkdir(place.project, { recursive: true })
    for (const [path, text] of Object.entries(program.files(place))) await Bun.write(join(place.home, path), text)
    return await use(place)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** One run of a program in its place. Nothing of this machine's settings reaches it; where it calls home, it finds nobody. */
export const ranProgram = (
  folder: string,
  program: Program,
  place: Place,
  { model, prompt, isResumed }: { readonly model: LiveHost; readonly prompt: string; readonly isResumed: boolean },
): Promise<Ran> =>
  ranWithin(
    [join(folder, "node_modules/.bin", program.binary), ...program.command(liveModel(model), prompt, isResumed)],
    {
      cwd: place.project,
      env: {
        PATH: process.env["PATH"],
        HOME: place.home,
        LANG: "C.UTF-8",
        NO_PROXY: "127.0.0.1,localhost",
        HTTPS_PROXY: "http://127.0.0.1:9",
        ...program.environment(place),
      },
      seconds: 120,
    },
  )
