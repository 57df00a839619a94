/** Spans and the access log have the pattern of the route that was taken, on every route. docs/traces.md */
import { beforeAll, expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import {
  answerOfEveryRoute,
  bodyFor,
  configOfEveryRoute,
  nameOf,
  paid,
  patternOf,
  streamsOf,
} from "../../support/gateways/everyRoute.ts"
import { closeAfterAll, opened, startWatched, type Watched } from "../../support/gateways/watched.ts"
import { type Collector, exporting, startCollector } from "../../support/hosts/collector.ts"
import { scriptedHost } from "../../support/hosts/host.ts"

closeAfterAll()

let collector: Collector
let gateway: Watched

beforeAll(async () => {
  collector = opened(startCollector())
  const host = opened(scriptedHost(answerOfEveryRoute))
  gateway = await startWatched({
    config: { ...configOfEveryRoute(host), server: { access_log: "all" } },
    setting: exporting(collector.url),
  })
})

const asked = Object.entries(paid).flatMap(([path, route]) =>
  streamsOf(route).map((stream) => ({ path, stream, ...route })),
)

test.each(asked)("$path, stream: $stream", async (route) => {
  const { path, stream, operation } = route
  const response = await gateway.call(path, { method: "POST", body: JSON.stringify(bodyFor(route, stream)) })
  await response.text()
  const id = response.headers.get("x-gw-request-id") ?? "none"
  const root = () => collector.spans.find(({ attributes }) => attributes["headgate.request_id"] === id)
  await until(() => root() !== undefined, "the span")
  const { spanId, name, attributes } = root() ?? {}
  // Google's parameter is written as routers of the web write it.
  const pattern = patternOf(path).replace("{model}", ":model")
  expect([name, attributes?.["http.route"]]).toEqual([nameOf(path), pattern])
  const call = collector.spans.find(({ parentSpanId, kind }) => parentSpanId === spanId && kind === 3)
  expect(call?.attributes["gen_ai.operation.name"]).toBe(operation)
  await until(() => gateway.log().includes(id), "the line")
  const at = gateway.log().indexOf(id)
  expect(gateway.log().slice(at, at + 400)).toContain(`route: "${nameOf(path)}"`)
})
