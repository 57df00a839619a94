/**
 * Keeps a key that Google's clients write into the address or into `x-goog-api-key` out of what the app around the
 * gateway tells of the request: the spans of its HTTP server, and the lines that it logs for each answer.
 * docs/guarantees.md#g27
 */
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { googleKey } from "../headers.ts"

const header = "http.request.header.x-goog-api-key"

/** Members of a query whose name is `key`, however it is spelled. */
const withoutKey = (text: string): string =>
  text.replace(/(^|[?&])([^=&#?]*)=[^&#]*/g, (member, before: string, name: string) =>
    new URLSearchParams(name).has("key") ? `${before}${name}=[secret]` : member,
  )

/** `@effect/platform` sets these on the span that it opens for a request. */
const clear = (span: Tracer.AnySpan | undefined): void => {
  if (span?._tag !== "Span") return
  for (const name of ["url.full", "url.query"]) {
    const value = span.attributes.get(name)
    if (typeof value === "string") span.attribute(name, withoutKey(value))
  }
  if (span.attributes.has(header)) span.attribute(header, "[secret]")
  clear(Option.getOrUndefined(span.parent))
}

/** Serves the request by `served`. */
export const withoutGoogleKey = <A>({ headers, url }: Request, served: Effect.Effect<A>): Effect.Effect<A> => {
  if (googleKey(headers, url) === undefined) return served
  const cleared = Effect.map(Effect.serviceOption(Tracer.ParentSpan), (span) => clear(Option.getOrUndefined(span)))
  // The app's line has the whole address; the access log tells of the request.
  return HttpMiddleware.withLoggerDisabled(Effect.zipRight(cleared, served))
}
