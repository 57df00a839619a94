/** One gateway with a model for each form of hosts, whose host answers as the test says. */
import { expect } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../hosts/host.ts"
import type { ClientForm } from "./ClientForm.ts"
import { answerIn, type HostForm, hostForms } from "./hosts.ts"
import { type Answer, type Asked, objectIn, type Question } from "./script.ts"

export interface FormsScene {
  readonly gateway: TestGateway
  /** Name of the model at a host of the form. */
  readonly model: (host: HostForm) => string
  /** What the hosts answer from now on. */
  answers: (host: HostForm, body: JsonObject) => Response
  /** Answers each request with these choices. */
  readonly say: (...choices: ReadonlyArray<Answer>) => void
  readonly post: (
    client: ClientForm,
    host: HostForm,
    question: Question,
    more?: JsonObject,
    headers?: Record<string, string>,
  ) => Promise<Response>
  /** The requests to a host so far. */
  readonly calls: (host: HostForm) => ScriptedHost["calls"]
  /** What a host was asked last. */
  readonly asked: (host: HostForm) => Asked
  /** The row of an answer in the ledger, as its caller may read it. */
  readonly row: (response: Response) => Promise<JsonObject>
  readonly stop: () => Promise<void>
}

export const formsScene = async (): Promise<FormsScene> => {
  const hosts = new Map(hostForms.map((form) => [form, scriptedHost((body) => scene.answers(form, body))] as const))
  const hostOf = (form: HostForm): ScriptedHost => {
    const host = hosts.get(form)
    if (host === undefined) throw new Error("a host that was not started")
    return host
  }
  const model = ({ name }: HostForm) => `acme/${name}`
  const gateway = await startGateway({
    config: {
      providers: Object.fromEntries(
        hostForms.map((form) => [
          form.name,
          { plugin: form.plugin, base_url: hostOf(form).url, network: "private" as const, api_key: "key-of-the-forms" },
        ]),
      ),
      models: hostForms.map((form) => ({
        id: model(form),
        name: form.name,
        created: 1_760_000_000,
        context_length: 100_000,
        hosts: [
          {
            provider: form.name,
            model: form.model,
            pricing: { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.0000001" },
            max_completion_tokens: 4096,
          },
        ],
      })),
      limits: {
        breaker: { consecutive_failures: 0, error_rate: 0 },
        cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0, max_s: 0 },
      },
    },
  })
  const scene: FormsScene = {
    gateway,
    model,
    answers: () => Response.json({ error: { message: "nothing to say" } }, { status: 500 }),
    say: (...choices) => {
      scene.answers = (host, body) => answerIn(host, body, choices)
    },
    post: (client, host, question, more = {}, headers = {}) =>
      gateway.call(client.path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: model(host), ...client.body(question), ...more }),
      }),
    calls: (host) => hostOf(host).calls,
    asked: (host) => host.read(hostOf(host).calls.at(-1)?.body ?? {}),
    row: async (response) => {
      const found = await gateway.call(`/generation?id=${response.headers.get("x-generation-id")}`)
      expect(found.status).toBe(200)
      return objectIn(objectIn(await found.json())["data"])
    },
    stop: async () => {
      await gateway.stop()
      for (const host of hosts.values()) await host.stop()
    },
  }
  return scene
}

/** The body of a 200. */
export const bodyOf = async (response: Response): Promise<JsonObject> => {
  const text = await response.text()
  expect([response.status, response.status === 200 ? "" : text]).toEqual([200, ""])
  return objectIn(JSON.parse(text))
}
