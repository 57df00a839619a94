/** `openrouter_metadata`: the attempts that a request really took, for callers who ask for it with a header. */
import type { FailedAttempt } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { RequestContext } from "../../services/request/RequestContext.ts"
import { metadataHeaders } from "../headers.ts"

/** What is shown of the routing, beside what the request did. */
export interface ShownRoute {
  /** The model as the caller named it. */
  readonly requested: string
  /** Id of the model that the caller named first. */
  readonly model: string
  readonly plan: Plan
}

const [header, olderHeader] = metadataHeaders

/** Whether the caller asks for it. */
export const wantsMetadata = (headers: Headers): boolean =>
  (headers.get(header) ?? headers.get(olderHeader))?.toLowerCase() === "enabled"

/** `host`: the one that answers; `undefined`: none does. */
export const routeMetadata = (
  { requested, model, plan }: ShownRoute,
  { failed, lost }: Pick<RequestContext, "failed" | "lost">,
  host: Host | undefined,
) => {
  const tried = failed.map((attempt) => ({
    provider: attempt.provider,
    model: attempt.model,
    status: statusOf(attempt),
  }))
  const slower = lost === undefined ? [] : [attemptAt(lost.host, cancelled)]
  const before = lost?.wasFirst === true ? [...tried, ...slower] : tried
  const after = lost?.wasFirst === false ? slower : []
  const attempts = host === undefined ? tried : [...before, attemptAt(host, 200), ...after]
  const attempt = host === undefined ? tried.length : before.length + 1
  return {
    requested,
    strategy: howChosen(requested, model, host),
    // The gateway knows no regions.
    region: null,
    summary: summaryOf(attempt, plan.attempts.length, host),
    attempt,
    is_byok: false,
    endpoints: {
      total: plan.attempts.length + plan.excluded.length,
      available: plan.attempts.map((one) => ({
        provider: one.providerName,
        model: one.model,
        selected: one === host,
      })),
    },
    attempts,
  }
}

const attemptAt = ({ providerName: provider, model }: Host, status: number) => ({ provider, model, status })

/** The status of a call that was cancelled because another host was faster. */
const cancelled = 499

/** The status of a host's answer. Without one, or where a 200 was no answer, the one that a gateway would give. */
const statusOf = ({ failure: { reason, status } }: FailedAttempt): number =>
  status === undefined || status < 400 ? (reason === "timeout" ? 408 : 502) : status

/** How the model was found: a fallback model of the caller's list, an alias, or as it was named (also with a variant). */
const howChosen = (requested: string, model: string, host: Host | undefined): "direct" | "alias" | "fallback" => {
  if (host !== undefined && host.model !== model) return "fallback"
  return requested === model || requested.startsWith(`${model}:`) ? "direct" : "alias"
}

const summaryOf = (attempt: number, planned: number, host: Host | undefined): string =>
  host === undefined
    ? `No host answered: ${attempt} of ${planned} tried.`
    : `${host.providerName} answered at attempt ${attempt}, of ${planned} that could be tried.`
