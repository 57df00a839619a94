/** How checks call `Provider.sign`: with one loaded provider, a clock of their own, and the vendor's answers of the subject. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { oneLine } from "../../plugin/checks/PluginFault.ts"
import type { Credentials, Provider, SideAnswer, SideRequest } from "../../plugin/Provider.ts"
import { must, shown } from "../Check.ts"
import { host, requestOf, slug } from "../samples.ts"
import { gatewayConfig, load, loadedAnew, type ProviderSubject } from "../subject.ts"

export const contract = "Provider.sign"

export const unreachable = new HostFailed({ reason: "unreachable" })

/** Unix milliseconds at which checks begin. */
export const start = 1_800_000_000_000

export const credentialsOf = (subject: ProviderSubject): Record<string, Redacted.Redacted> => {
  const apiKey = gatewayConfig(subject).providers.get(slug)?.apiKey ?? null
  return { ...load(subject).credentials, ...(apiKey === null ? {} : { api_key: apiKey }) }
}

export const secretsIn = (credentials: Credentials): ReadonlyArray<string> =>
  Object.values(credentials).map((secret) => Redacted.value(secret))

/** A request of the provider's first protocol. `last`: what its last message says. */
export const someRequest = (subject: ProviderSubject, last?: string): Encoded | undefined => {
  const [protocol] = Object.values(load(subject).protocols)
  const request = requestOf(true, { lacks: subject.lacks, ...(last === undefined ? {} : { last }) })
  const encoded = protocol?.encode(request, host)
  return encoded !== undefined && Either.isRight(encoded) ? encoded.right : undefined
}

const baseUrlOf = ({ plugin, config = {} }: ProviderSubject, { baseUrl }: Provider): string =>
  String(config["base_url"] ?? baseUrl ?? plugin.baseUrl ?? "https://host.test/v1")

/** What the vendor answers to a request of `sign`. */
export type Answering = (request: SideRequest) => Effect.Effect<SideAnswer, HostFailed>

/** The vendor's answers to the requests that `sign` makes. */
export const sideAnswers =
  ({ answer }: ProviderSubject): Answering =>
  ({ url, method = "GET", headers = {}, body }) =>
    answer === undefined
      ? Effect.fail(unreachable)
      : Effect.tryPromise({
          try: async () => {
            const request = new Request(url, { method, headers, ...(body === undefined ? {} : { body }) })
            const response = await answer(request)
            return { status: response.status, headers: response.headers, body: await response.text() }
          },
          catch: () => unreachable,
        })

export interface Setting {
  readonly http: Answering
  readonly credentials?: Credentials
  readonly now?: number
}

/** One loaded provider, as all requests of a gateway have it. */
class Signer {
  private readonly subject: ProviderSubject
  private readonly provider: Provider

  constructor(subject: ProviderSubject, provider: Provider) {
    this.subject = subject
    this.provider = provider
  }

  sign(encoded: Encoded, { http, credentials = credentialsOf(this.subject), now = start }: Setting) {
    return Effect.suspend(() => {
      const url = `${baseUrlOf(this.subject, this.provider)}${encoded.path}`
      const signing = this.provider.sign?.(encoded, { url, credentials, now, http })
      must(Effect.isEffect(signing), `sign() gave ${shown(signing)}, which is no Effect`, contract)
      return signing
    })
  }

  run(encoded: Encoded, setting: Setting): Promise<Exit.Exit<Encoded, unknown>> {
    return Effect.runPromiseExit(this.sign(encoded, setting))
  }
}

/** With a provider that is loaded for this check alone, so that it has no token yet. */
export const signerOf = async (subject: ProviderSubject): Promise<Signer> =>
  new Signer(subject, await loadedAnew(subject))

/** How a call of `sign` ended, for a message. */
export const endOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "gives a signed request"
  const failure = failureIn(exit)
  return failure === undefined ? `throws "${oneLine(Cause.squash(exit.cause))}"` : `fails as "${failure.reason}"`
}

/** The failure of the host that `sign` ended with; `undefined`: it ended in another way. */
export const failureIn = (exit: Exit.Exit<unknown, unknown>): HostFailed | undefined =>
  Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error instanceof HostFailed
    ? exit.cause.error
    : undefined
