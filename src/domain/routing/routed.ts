/**
 * A plan in a few bytes, for the ledger: which hosts it had, in which order, and by which rule others were left out. No word of the
 * request is in it: of an exclusion its rule is kept, not its reason, which may quote the request. Pure. See
 * docs/decisions/0085-the-route-of-a-ledger-row.md.
 *
 * The text has a line for each host, after a line with its model where that is another one than before:
 *
 *   =acme/small
 *   +openai                    in the plan
 *   -max_price<TAB>azure       left out by max_price
 *   !timeout<TAB>openai<TAB>504<TAB>812.4
 *                              how its call ended, the status of its answer ("": none), and the milliseconds that it took ("": not called)
 *   !unreachable<TAB>openai<TAB><TAB>5.1<TAB>dns
 *                              and what kept it from being reached, where that is known
 *
 * Its first line is "1" for a plan of one host that left none out: that is the host of the request's row or record.
 */
import type { Exclusion } from "../failures/Exclusion.ts"
import type { Host } from "../hosts/Host.ts"

const alone = "1"

/** Characters of the plan, and of what became of its hosts. What is beyond is left out, which the last line says. */
const mostOfPlan = 1500
const mostInAll = 2000
const more = "…\n"

/** A host of a plan, or one that was called. */
export interface RoutedHost {
  readonly model: string
  /** Its tag. */
  readonly host: string
}

/** What became of a host of a plan. */
export interface RoutedEnd extends RoutedHost {
  readonly outcome: string
  /** What kept it from being reached, such as `dns` (`ConnectionFault`). Absent: nothing, or it is not known. */
  readonly fault?: string
}

/** Such as `timeout`, or `unreachable: dns`. */
export const endText = ({
  outcome,
  fault,
}: Pick<RoutedEnd, "outcome"> & { readonly fault?: string | null | undefined }): string =>
  fault == null ? outcome : `${outcome}: ${fault}`

/** How the call of a host ended, or why it could not be called. */
export interface EndedCall extends RoutedEnd {
  /** Of the host's answer; `null`: there was none, or it was not kept. */
  readonly status: number | null
  /** Milliseconds that it took; `null`: the host could not be called, or this was not kept. */
  readonly ms: number | null
}

export interface Routed {
  /** In the order of the plan. `null`: the host that the request's row or record has was alone. */
  readonly order: ReadonlyArray<RoutedHost> | null
  readonly excluded: ReadonlyArray<RoutedHost & { readonly by: string }>
  /** In the order in which they ended, where there were others than the one that answered. */
  readonly ended: ReadonlyArray<EndedCall>
  /** Whether hosts are missing, because there were too many. */
  readonly isCut: boolean
}

type ExcludedHost = Pick<Exclusion, "model" | "host" | "by">

interface PlannedHosts {
  readonly attempts: ReadonlyArray<Pick<Host, "model" | "tag">>
  readonly excluded: ReadonlyArray<ExcludedHost>
}

/** Of a plan. */
export const routedOf = ({ attempts, excluded }: PlannedHosts): string => {
  if (attempts.length === 1 && excluded.length === 0) return alone
  let text = ""
  let model = ""
  for (const host of attempts) {
    if (host.model !== model) {
      model = host.model
      text += `=${model}\n`
    }
    text += `+${host.tag}\n`
    if (text.length > mostOfPlan) return cut(text)
  }
  return excluded.length === 0 ? text : withExcluded(text, model, excluded)
}

/** Of a request without a plan, because every host was excluded. */
export const routedOfExcluded = (excluded: ReadonlyArray<ExcludedHost>): string =>
  excluded.length === 0 ? "" : withExcluded("", "", excluded)

const withExcluded = (ordered: string, first: string, excluded: ReadonlyArray<ExcludedHost>): string => {
  let text = ordered
  let model = first
  for (const exclusion of excluded) {
    if (exclusion.model !== model) {
      model = exclusion.model
      text += `=${model}\n`
    }
    text += `-${exclusion.by}\t${exclusion.host}\n`
    if (text.length > mostOfPlan) return cut(text)
  }
  return text
}

/** Without the lines from the one on that is beyond the bound. */
const cut = (text: string): string => text.slice(0, text.lastIndexOf("\n", mostOfPlan - 1) + 1) + more

/** `routed` with a line for each call, up to the bound. */
export const withEnds = (routed: string, ends: ReadonlyArray<EndedCall>): string => {
  let text = routed
  for (const { model, host, outcome, status, ms, fault } of ends) {
    const took = ms === null ? "" : Math.round(ms * 10) / 10
    // A line of its own for each, since it need not be of the model before it.
    const line = `=${model}\n!${outcome}\t${host}\t${status ?? ""}\t${took}${fault === undefined ? "" : `\t${fault}`}\n`
    if (text === alone) text += "\n"
    if (text.length + line.length + more.length > mostInAll) return text + more
    text += line
  }
  return text
}

/** `undefined`: nothing was kept. */
export const readRouted = (text: string): Routed | undefined => {
  if (text === "") return undefined
  const order: Array<RoutedHost> = []
  const excluded: Array<RoutedHost & { readonly by: string }> = []
  const ended: Array<EndedCall> = []
  let model = ""
  for (const line of text.split("\n")) {
    const rest = line.slice(1)
    const [what = "", host = "", status = "", ms = "", fault] = rest.split("\t")
    if (line.startsWith("=")) model = rest
    else if (line.startsWith("+")) order.push({ model, host: rest })
    else if (line.startsWith("-")) excluded.push({ model, host, by: what })
    else if (line.startsWith("!"))
      ended.push({
        ...{ model, host, outcome: what, status: numberOrNull(status), ms: numberOrNull(ms) },
        ...(fault === undefined ? {} : { fault }),
      })
  }
  const isAlone = text === alone || text.startsWith(`${alone}\n`)
  return { order: isAlone ? null : order, excluded, ended, isCut: text.includes(more) }
}

const numberOrNull = (text: string): number | null => (text === "" ? null : Number(text))

/** What rules of exclusion mean, by their names. Of others, which are parameters, the name says it. */
const rules: ReadonlyMap<string, string> = new Map(
  Object.entries({
    service_tier: "its service tier is not the one that was asked for",
    only: "not among the allowed providers",
    ignore: "among the ignored providers",
    data_collection: "may train on prompts",
    zdr: "may retain prompts",
    enforce_distillable_text: "the model's author does not allow distillation, or nothing is known of that",
    quantizations: "its quantization was not asked for",
    max_price: "its price is unknown, or above what the request allows",
    context_length: "the prompt is longer than its context",
    input_modalities: "does not take what the prompt has",
    output_modalities: "does not make what was asked for",
    dimensions: "does not support dimensions",
    form: "cannot carry what only the caller's form has",
    free: "is not free",
    extended: "its context is not the model's longest",
    hosted_tools: "cannot run a tool that was asked for, or has no price for it",
    thinking: "does not reason on demand",
    online: "has no web search of its own, or no price for it",
    require_parameters: "does not support every parameter of the request",
    max_tokens: "cannot write as many tokens",
    tool_choice: "does not support this tool_choice",
    provider: "its provider was off",
    allowed_models: "the key may not use it",
    allowed_providers: "the key may not use it",
    budget: "the key's budget did not cover it",
    allow_fallbacks: "fallbacks were not allowed",
    api_keys: "none of its keys could be used",
    cooldown: "left alone after a failure",
    breaker: "left alone after failures",
  }),
)

export const ruleOf = (by: string): string => rules.get(by) ?? `excluded by ${by}`
