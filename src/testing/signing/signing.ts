/** Checks of `Provider.sign` with one request. */
import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Encoded } from "../../formats/Protocol.ts"
import { expectedOfEncoded } from "../../plugin/checks/shapes.ts"
import { type Check, must, shown } from "../Check.ts"
import { marks } from "../samples.ts"
import { isLacking, type ProviderSubject } from "../subject.ts"
import {
  contract,
  credentialsOf,
  endOf,
  failureIn,
  type Setting,
  secretsIn,
  sideAnswers,
  signerOf,
  someRequest,
  unreachable,
} from "./Signer.ts"
import { tokenChecks } from "./tokens.ts"

export const signingChecks = (subject: ProviderSubject): ReadonlyArray<Check> => [
  { name: "sign() completes a request, and keeps its body", run: () => signs(subject) },
  { name: "sign() fails as a host where it cannot sign", run: () => failsToSign(subject) },
  { name: "sign() covers the body where it computes a signature", run: () => coversBody(subject) },
  ...tokenChecks(subject),
]

const signs = async (subject: ProviderSubject): Promise<void> => {
  const encoded = someRequest(subject)
  if (encoded === undefined) return
  const before = structuredClone(encoded)
  const exit = await (await signerOf(subject)).run(encoded, { http: sideAnswers(subject) })
  must(Exit.isSuccess(exit), () => `sign() ${endOf(exit)} with the given configuration and \`answer\``, contract)
  must(isDeepStrictEqual(encoded, before), "sign() changes the request that it is given", contract)
  const { value } = exit
  const expected = expectedOfEncoded(value)
  must(expected === undefined, `sign() must return an Effect of ${expected}`, contract)
  must(
    isDeepStrictEqual(value.body, before.body) && (value.method ?? "POST") === (before.method ?? "POST"),
    "sign() changes the body or the method: the money is reserved for what encode() gave",
    contract,
  )
  const written = `${value.path} ${Object.values(value.headers ?? {}).join(" ")}`
  must(
    !ofToday().some((text) => written.includes(text)),
    "sign() writes the time of this machine: `now` of the context is the time of the request",
    "SignContext.now",
  )
  const sent = `${value.path} ${bodyText(value)}`
  for (const secret of secretsIn(credentialsOf(subject))) {
    must(
      !sent.includes(secret) && !sent.includes(encodeURIComponent(secret)),
      "sign() writes a secret into the path or the body: it belongs into a header",
      contract,
    )
  }
}

/** Beginnings of times of today. Checks sign with a `now` of another year. */
const ofToday = (): ReadonlyArray<string> => {
  const today = new Date()
  const iso = today.toISOString().slice(0, 10)
  return [iso, iso.replaceAll("-", ""), String(today.getTime()).slice(0, 8), today.toUTCString().slice(0, 16)]
}

const bodyText = ({ body }: Encoded): string => (typeof body === "string" ? body : new TextDecoder().decode(body))

const failsToSign = async (subject: ProviderSubject): Promise<void> => {
  const encoded = someRequest(subject)
  if (encoded === undefined) return
  const broken: ReadonlyArray<readonly [what: string, given: Setting]> = [
    ["without credentials", { credentials: {}, http: sideAnswers(subject) }],
    ["where the vendor cannot be reached", { http: () => Effect.fail(unreachable) }],
    ...["", "<html>", "{}", "[]", "null"].map(
      (body) =>
        [
          `where the vendor answers ${shown(body)}`,
          { http: () => Effect.succeed({ status: 200, headers: new Headers(), body }) },
        ] as const,
    ),
  ]
  for (const [what, given] of broken) {
    const exit = await (await signerOf(subject)).run(encoded, given)
    must(
      Exit.isSuccess(exit) || failureIn(exit) !== undefined,
      () => `sign() ${what} ${endOf(exit)}: it has to give a HostFailed`,
      contract,
    )
  }
}

// --- signatures

/** Words that `sign` computed for a request: long ones that are neither a secret nor a token of three parts. */
const computedIn = (value: Encoded, before: Encoded, secrets: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64"),
  ])
  const added = Object.entries(value.headers ?? {}).filter(([name, text]) => before.headers?.[name] !== text)
  const query = new URLSearchParams(value.path.split("?")[1] ?? "")
  const words = [...added.map(([, text]) => text), ...query.values()]
    .flatMap((text) => text.split(/[\s,;]+/))
    .map((word) => word.replace(/^[\w-]+=(?=[^=])/, "").replaceAll('"', ""))
  return words.filter(
    (word) => /^[\w+/-]{24,}={0,2}$/.test(word) && !known.some((each) => each.includes(word) || word.includes(each)),
  )
}

/** A signature that does not cover the body lets whoever sees a request send another one with it. */
const coversBody = async (subject: ProviderSubject): Promise<void> => {
  const [one, other] = [someRequest(subject), someRequest(subject, `${marks.last} And in Bergen?`)]
  if (one === undefined || other === undefined || isLacking(subject, "signed body")) return
  const secrets = secretsIn(credentialsOf(subject))
  let calls = 0
  const http = sideAnswers(subject)
  const signed = async (encoded: Encoded) => {
    const exit = await (await signerOf(subject)).run(encoded, {
      http: (request) => {
        calls++
        return http(request)
      },
    })
    return Exit.isSuccess(exit) ? computedIn(exit.value, encoded, secrets) : []
  }
  const [first, second] = [await signed(one), await signed(other)]
  // What is fetched is a token, and holds for any request.
  if (calls > 0 || first.length === 0) return
  must(
    !isDeepStrictEqual(first, second),
    `sign() computes ${shown(first.at(-1))} for two requests with different bodies: the signature does not cover the body. ` +
      'Where the vendor signs no bodies, say so with `lacks: ["signed body"]`',
    contract,
  )
}
