/** One request: how it ended, its times, its route and its bill. */
import { call, data } from "../../api/call.ts"
import type { RequestDetail } from "../../api/requestTypes.ts"
import type { RequestPage, RequestRow } from "../../api/types.ts"
import { Page, Panel, Tile, Tiles } from "../../components/layout.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { Badge, Copyable, Count, Milliseconds, None, Pairs, Time, Usd } from "../../components/values.tsx"
import { bytes } from "../../lib/numbers.ts"
import { causeOf, causeWords, outcomeTone, outcomeWords } from "../../lib/outcomes.ts"
import { waterfall } from "../../lib/waterfall.ts"
import { keyHref, modelHref, requestsHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { href } from "../../state/router.ts"
import { isManagement } from "../../state/session.ts"
import type { ViewProps } from "../views.ts"
import { Bill } from "./Bill.tsx"
import { Route } from "./Route.tsx"
import { Waterfall } from "./Waterfall.tsx"

interface Whole {
  readonly detail: RequestDetail
  /** The row of the list; `null`: it is not found there. */
  readonly row: RequestRow | null
  /** Of its key; `null`: it is deleted, or an ordinary key asks. */
  readonly keyName: string | null
}

/** Ids sort by time, so the row of a request is the first one at its time. */
const rowOf = async (detail: RequestDetail, signal: AbortSignal): Promise<RequestRow | null> => {
  const at = Date.parse(detail.created_at)
  // The id is made when the first byte comes, and the time of admission is later.
  const span = { from: new Date(at - 3_600_000).toISOString(), to: new Date(at + 1000).toISOString() }
  const model = detail.model === null ? {} : { model: detail.model }
  const page = await call<RequestPage>("/requests", { query: { ...span, ...model, limit: 1000 }, signal })
  return page.data.find((row) => row.request_id === detail.request_id) ?? null
}

/** A key that is gone has rows still, so it is looked for in a list, which may be empty. */
const keyNameOf = async (hash: string, signal: AbortSignal): Promise<string | null> => {
  if (!isManagement.value) return null
  const keys = await data<ReadonlyArray<{ readonly hash: string; readonly name: string }>>("/keys", {
    query: { limit: 100, include_disabled: "true" },
    signal,
  })
  return keys.find((key) => key.hash === hash)?.name ?? null
}

const One = ({ names }: ViewProps) => {
  const id = names["id"] ?? ""
  const query = useQuery(`request ${id}`, async (signal): Promise<Whole> => {
    const detail = await data<RequestDetail>("/generation", { query: { id }, signal })
    const row = await rowOf(detail, signal)
    return { detail, row, keyName: row === null ? null : await keyNameOf(row.key_hash, signal) }
  })
  return (
    <Page title="Request" intro={<a href={href("/requests")}>All requests</a>}>
      <Shown of={query} what="the request">
        {(whole) => <Content {...whole} />}
      </Shown>
    </Page>
  )
}

const Content = ({ detail, row, keyName }: Whole) => {
  const total = row?.duration_ms ?? detail.generation_time
  const calls = timedCalls(row)
  const spans = row === null ? [] : waterfall(timesOf(row), calls ?? [], total, calls === null ? row.host : null)
  return (
    <>
      <p class="outcome">
        <Badge tone={outcomeTone(detail.outcome)}>
          {detail.status ?? "no status"} {outcomeWords(detail.outcome)}
        </Badge>{" "}
        {detail.outcome === "ok" ? null : <span>Caused by {causeWords(causeOf(detail.outcome))}.</span>}{" "}
        {detail.why === null ? null : <span>{detail.why}</span>}
      </p>
      <Tiles>
        <Tile label="Cost" value={<Usd amount={detail.exact.usage} />} note={<Upstream detail={detail} />} />
        <Tile
          label="Tokens in"
          value={<Count of={detail.tokens_prompt} />}
          note={detail.native_tokens_cached === 0 ? " " : `${detail.native_tokens_cached} of them cached`}
        />
        <Tile
          label="Tokens out"
          value={<Count of={detail.tokens_completion} />}
          note={detail.native_tokens_reasoning === 0 ? " " : `${detail.native_tokens_reasoning} of them reasoning`}
        />
        <Tile label="First token" value={<Milliseconds of={detail.streamed ? detail.latency : null} />} />
        <Tile label="Took" value={<Milliseconds of={total} />} />
      </Tiles>
      <Panel title="Times" note="Each bar begins where its part began; the line is the whole request.">
        {spans.length === 0 ? (
          <Empty title="Only its length is kept of this request." />
        ) : (
          <Waterfall spans={spans} total={Math.max(total, ...spans.map(({ to }) => to))} />
        )}
        {row !== null && row.times_ms.admitted === null && detail.outcome === "ok" ? (
          <p class="muted small">Of a request that went well the gateway's own times are not kept.</p>
        ) : null}
      </Panel>
      <div class="panels">
        <Route detail={detail} />
        <Bill detail={detail} />
      </div>
      <Facts detail={detail} row={row} keyName={keyName} />
    </>
  )
}

/** The calls with their times; `null`: none is kept. */
const timedCalls = (row: RequestRow | null): RequestRow["attempts"] =>
  row?.attempts?.some(({ duration_ms }) => duration_ms !== null) === true ? row.attempts : null

/** A whole answer has no first token: what is kept of it is when it came. */
const timesOf = ({ streamed, times_ms: times }: RequestRow): RequestRow["times_ms"] =>
  streamed ? times : { ...times, first_token: null }

const Upstream = ({ detail }: { readonly detail: RequestDetail }) =>
  detail.exact.upstream_inference_cost === detail.exact.usage ? (
    <>as its host charges</>
  ) : (
    <>
      its host charges <Usd amount={detail.exact.upstream_inference_cost} isExact />
    </>
  )

const orNone = (text: string | null | undefined, words: string) =>
  text === null || text === undefined || text === "" ? <None words={words} /> : text

const Facts = ({ detail, row, keyName }: Whole) => (
  <Panel title="What is kept of it" note="Prompts and answers are not.">
    <Pairs
      of={[
        ["Request", <Copyable key="id" text={detail.request_id} what="the id of the request" />],
        detail.id === detail.request_id
          ? null
          : ["Generation", <Copyable key="id" text={detail.id} what="the id of the generation" />],
        detail.caller_request_id === null
          ? null
          : ["Caller's own id", <Copyable key="id" text={detail.caller_request_id} what="the caller's id" />],
        ["Admitted", <Time key="at" at={detail.created_at} form="second" />],
        [
          "Model",
          detail.model === null ? (
            <None words="not known" />
          ) : (
            <a key="model" href={isManagement.value ? modelHref(detail.model) : requestsHref({ model: detail.model })}>
              {detail.model}
            </a>
          ),
        ],
        ["Provider", orNone(detail.provider_name, "no host was called")],
        row === null || !isManagement.value
          ? null
          : [
              "Key",
              <a key="key" href={keyHref(row.key_hash)}>
                {keyName ?? `${row.key_hash.slice(0, 16)}…`}
              </a>,
            ],
        ["Route", orNone(row?.route ?? null, "not kept")],
        ["Form", `${detail.plan?.form ?? detail.api_type}, ${detail.streamed ? "streamed" : "whole"}`],
        ["Finish", orNone(detail.finish_reason, "none")],
        ["App", orNone(row?.app_title ?? detail.origin, "named none")],
        ["End user", orNone(row?.user_hash ?? null, "named none")],
        ["Address", orNone(row?.address ?? null, "not kept")],
        row === null || row.bytes_in === null || row.bytes_out === null
          ? null
          : ["Bytes", `${bytes(row.bytes_in)} in, ${bytes(row.bytes_out)} out`],
      ]}
    />
  </Panel>
)

export default One
