/** Checks of the hooks beside the protocols: `sign`, `transport`, `listModels`. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { decodeModels, servedBy } from "../catalogue/models.ts"
import { HostFailed } from "../domain/failures/Failure.ts"
import { isJsonObject } from "../domain/json/json.ts"
import type { Protocol } from "../formats/Protocol.ts"
import { expectedOfEncoded } from "../plugin/checks/shapes.ts"
import type { Provider } from "../plugin/Provider.ts"
import { streamOf } from "./answers/frames.ts"
import { attempt, type Check, must, shown } from "./Check.ts"
import { anyJson, forAll, host, noAnswers, requestOf, slug } from "./samples.ts"
import { credentialsOf } from "./signing/Signer.ts"
import { signingChecks } from "./signing/signing.ts"
import { gatewayConfig, load, type ProviderSubject, secretsOf, secretsRead } from "./subject.ts"

export const hookChecks = (subject: ProviderSubject): ReadonlyArray<Check> => {
  const provider = loaded(subject)
  if (provider === undefined) return []
  const { sign, transport, keyCheck, listModels } = provider
  return [
    { name: "keeps its secrets where the gateway can see them", run: () => declaresSecrets(subject) },
    ...(sign === undefined ? [] : signingChecks(subject)),
    ...(transport === undefined
      ? []
      : [{ name: "transport() answers with streams of its protocol", run: () => transports(subject) }]),
    ...(keyCheck === undefined
      ? []
      : [{ name: "keyCheck asks without credentials", run: () => asksWithoutSecrets(subject, "keyCheck") }]),
    ...(listModels === undefined
      ? []
      : [
          {
            name: "listModels asks for a list, without credentials",
            run: () => asksWithoutSecrets(subject, "listModels"),
          },
          { name: "listModels reads its host's list, and throws at nothing", run: () => readsList(subject) },
        ]),
  ]
}

/** Nothing when it does not load, which another check reports. */
const loaded = (subject: ProviderSubject): Provider | undefined => {
  try {
    return load(subject)
  } catch {
    return undefined
  }
}

const declaresSecrets = (subject: ProviderSubject): void => {
  const declared = Object.values(credentialsOf(subject)).map((secret) => Redacted.value(secret))
  const keys = gatewayConfig(subject).providers.get(slug)?.apiKeys ?? []
  const known = new Set([...declared, ...keys.map(({ key }) => Redacted.value(key.secret)), ...secretsRead(subject)])
  must(
    secretsOf(subject).every((secret) => known.has(secret)),
    "A secret of the configuration is no `Secret` and not among `credentials`: the gateway could not take it out of what a host says",
    "Secret, Provider.credentials",
  )
}

// --- transport

const transports = async (subject: ProviderSubject): Promise<void> => {
  const provider = load(subject)
  for (const [name, protocol] of Object.entries(provider.protocols)) {
    const encoded = protocol.encode(requestOf(true, { lacks: subject.lacks }), host)
    if (Either.isLeft(encoded)) continue
    const { method = "POST", path, headers = {}, body } = encoded.right
    const request = new Request(`http://host.test/v1${path}`, { method, headers, body })
    const answer = attempt("transport()", "Provider.transport", () => provider.transport?.(request))
    must(answer instanceof Promise, "transport() gave no promise", "Provider.transport")
    const response = await answer
    must(
      response instanceof Response,
      `transport() gave ${shown(response)}, which is no Response`,
      "Provider.transport",
    )
    must(
      response.status === 200,
      `transport() answers a stream's request of ${name} with ${response.status}`,
      "Provider.transport",
    )
    const state = streamState(protocol, new Uint8Array(await response.arrayBuffer()))
    must(
      state === "ended",
      `transport() answers a stream's request of ${name} with what its own decoder reads as "${state}"`,
      "Provider.transport, Protocol.decoder",
    )
  }
}

const streamState = (protocol: Protocol, bytes: Uint8Array): string => {
  const stream = streamOf(protocol)
  stream.push(bytes)
  stream.end()
  return stream.state
}

// --- keyCheck and listModels

/** The gateway adds the key, where it belongs. */
const asksWithoutSecrets = (subject: ProviderSubject, member: "keyCheck" | "listModels"): void => {
  const type = member === "keyCheck" ? "Provider.keyCheck" : "ListModels.request"
  const request: unknown = load(subject)[member]?.request
  const expected = expectedOfEncoded(request)
  must(expected === undefined, `${member}.request must be ${expected}`, type)
  const text = JSON.stringify(request)
  for (const secret of secretsOf(subject)) {
    must(!text.includes(secret), `${member}.request has a secret of the configuration`, type)
  }
  must(!/https?:\/\//.test(text), `${member}.request has an address: it is relative to the base URL`, type)
}

const readsList = (subject: ProviderSubject): void => {
  const { listModels } = load(subject)
  const decoded = (body: unknown): unknown =>
    attempt(
      () => `listModels.decode() of ${shown(body)}`,
      "ListModels.decode",
      () => listModels?.decode(body),
    )
  const isList = (body: unknown): void => {
    const models = decoded(body)
    must(
      models === undefined || models instanceof HostFailed || (Array.isArray(models) && models.every(isJsonObject)),
      () => `listModels.decode() of ${shown(body)} gave ${shown(models)}, which is no list of models, and not nothing`,
      "ListModels.decode",
    )
  }
  for (const body of noAnswers) isList(body)
  forAll(anyJson, isList)
  const { listed, plugin } = subject
  if (listed === undefined) return
  const models = decoded(listed.body)
  const list = Array.isArray(models) ? models : []
  const ids = list.map((each: unknown) => (isJsonObject(each) ? each["id"] : undefined))
  must(
    isDeepStrictEqual(ids, [...listed.expects]),
    `listModels.decode() finds the models ${shown(ids)}, expected ${shown(listed.expects)}`,
    "ListModels.decode",
  )
  const facts = { name: plugin.name, privacy: { mayTrain: true, retainsPrompts: true }, local: false }
  const { problems } = decodeModels(servedBy(list, slug), new Map([[slug, facts]]))
  const [problem] = problems
  must(
    problem === undefined,
    `listModels.decode() gives a model that the catalogue does not take: ${problem?.path}: ${problem?.message}`,
    "ListedModel",
  )
}
