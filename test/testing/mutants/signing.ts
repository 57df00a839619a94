/** Faults in plugins that fetch a token, or sign what they send. */
import type { Mutant } from "./Mutant.ts"

export const signing: ReadonlyArray<Mutant> = [
  {
    plugin: "tokenLike",
    fault: "a throw on a refused token",
    file: "token",
    edits: [
      [
        "if (answer.status !== 200) return yield* refusal(answer)",
        `if (answer.status !== 200) throw new Error("no token")`,
      ],
    ],
    check: "sign() fails as a host where a token is refused, and asks again for the next request",
    says: `sign(), whose request for a token is answered with 401 and the body of a good answer, throws "Error: no token": it has to give a HostFailed`,
  },
  {
    plugin: "tokenLike",
    fault: "the status of a token answer not read",
    file: "token",
    edits: [["if (answer.status !== 200) return yield* refusal(answer)", ""]],
    check: "sign() fails as a host where a token is refused, and asks again for the next request",
    says: "sign(), whose request for a token is answered with 401 and the body of a good answer, signs all the same: it does not look at the status",
  },
  {
    plugin: "tokenLike",
    fault: "a token that is never renewed",
    file: "token",
    edits: [["token !== undefined && now < token.until", "token !== undefined"]],
    check: "sign() fetches another token when one has expired",
    says: "sign() goes on with a token that holds for 3600 seconds, a second after its end: it compares with `now` of the context, and fetches another one",
  },
  {
    plugin: "tokenLike",
    fault: "the clock of the machine",
    file: "token",
    edits: [["const { now } = context", "const now = Date.now()"]],
    check: "sign() fetches another token when one has expired",
    says: "sign() goes on with a token that holds for 3600 seconds, a second after its end: it compares with `now` of the context, and fetches another one",
  },
  {
    plugin: "tokenLike",
    fault: "a token for each of several requests at once",
    file: "token",
    edits: [["if (fetching !== undefined) return Deferred.await(fetching)", ""]],
    check: "sign() fetches one token for many requests",
    says: "8 requests at once make 8 requests for a token, expected 1: the first one fetches it, the others wait for it",
  },
  {
    plugin: "tokenLike",
    fault: "a token for each request",
    file: "token",
    edits: [["        token = fresh\n", ""]],
    check: "sign() fetches one token for many requests",
    says: "sign() fetches a token for each request: it keeps one until shortly before it expires",
  },
  {
    plugin: "tokenLike",
    fault: "a refusal that is kept for ever",
    file: "token",
    edits: [["          fetching = undefined\n", ""]],
    check: "sign() fails as a host where a token is refused, and asks again for the next request",
    says: `After a refusal with 401, sign() fails as "account": the next request asks for a token again`,
  },
  {
    plugin: "tokenLike",
    fault: "a refused client as the caller's fault",
    file: "token",
    edits: [
      [
        `: "account"
  return`,
        `: "request"
  return`,
      ],
    ],
    check: "sign() fails as a host where a token is refused, and asks again for the next request",
    says: `sign(), whose request for a token is answered with 401 and the body of a good answer, fails as "request": a token that is refused is the operator's account, not the`,
  },
  {
    plugin: "tokenLike",
    fault: "a token in the path",
    file: "token",
    edits: [
      ["headers: { ...encoded.headers, authorization: `Bearer ${text}` },", "path: `${encoded.path}?token=${text}`,"],
    ],
    check: "sign() writes a token into no path",
    says: "sign() writes the token that it fetched into the path: proxies and the vendor's logs keep paths. It belongs into a header",
  },
  {
    plugin: "tokenLike",
    fault: "another token fetched, the old one sent",
    file: "token",
    edits: [
      ["        token = fresh\n", "        token = { ...fresh, text: token?.text ?? fresh.text }\n"],
      [
        "Effect.map(current, ({ text }) => ({",
        "Effect.map(current, ({ text: fresh }) => ({ text: token?.text ?? fresh })).pipe(Effect.map(({ text }) => ({",
      ],
      ["authorization: `Bearer ${text}` },\n      }))", "authorization: `Bearer ${text}` },\n      })))"],
    ],
    check: "sign() fetches another token when one has expired",
    says: "sign() fetches another token where one has expired, and sends the old one",
  },
  {
    plugin: "tokenLike",
    fault: "a body that is changed",
    file: "token",
    edits: [
      [
        "headers: { ...encoded.headers, authorization",
        "body: `${encoded.body} `, headers: { ...encoded.headers, authorization",
      ],
    ],
    check: "sign() completes a request, and keeps its body",
    says: "sign() changes the body or the method: the money is reserved for what encode() gave",
  },
  {
    plugin: "tokenLike",
    fault: "a region that does not count",
    file: "index",
    edits: [
      ["`https://${region}.token.example/v1`", `"https://north.token.example/v1"`],
      ["`https://login.${region}.token.example/oauth`", `"https://login.north.token.example/oauth"`],
    ],
    row: "fields of the configuration that change neither address nor request: region",
  },
  {
    plugin: "tokenLike",
    fault: "a secret that is a text to it",
    file: "index",
    edits: [
      ["client_secret: Secret", "client_secret: Schema.String"],
      ["credentials: { client_secret },", "credentials: {},"],
      ["client_secret }) => {", "client_secret: _ }) => {"],
    ],
    check: "keeps its secrets where the gateway can see them",
    says: "A secret of the configuration is no `Secret` and not among `credentials`: the gateway could not take it out of what a host says",
  },
  {
    plugin: "signedLike",
    fault: "a signature that does not cover the body",
    file: "index",
    edits: [["        .update(encoded.body)\n", ""]],
    check: "sign() covers the body where it computes a signature",
    says: '" for two requests with different bodies: the signature does not cover the body. Where the vendor signs no bodies, say so with `lacks: ["signed body"]`',
  },
  {
    plugin: "signedLike",
    fault: "the clock of the machine",
    file: "index",
    edits: [["new Date(now)", "new Date()"]],
    check: "sign() completes a request, and keeps its body",
    says: "sign() writes the time of this machine: `now` of the context is the time of the request",
  },
  {
    plugin: "signedLike",
    fault: "a secret in the query",
    file: "index",
    edits: [["        headers: {", "        path: `${encoded.path}?s=${Redacted.value(secret)}`,\n        headers: {"]],
    check: "sign() completes a request, and keeps its body",
    says: "sign() writes a secret into the path or the body: it belongs into a header",
  },
  {
    plugin: "signedLike",
    fault: "a request that is changed in place",
    file: "index",
    edits: [
      [
        `return Effect.succeed({
        ...encoded,
        headers: { ...encoded.headers, "x-signed-time": time, "x-signed-hash": signature },
      })`,
        `return Effect.succeed(Object.assign(encoded, { headers: { "x-signed-time": time, "x-signed-hash": signature } }))`,
      ],
    ],
    check: "sign() completes a request, and keeps its body",
    says: "sign() changes the request that it is given",
  },
  {
    plugin: "signedLike",
    fault: "a secret that is not declared nor a Secret",
    file: "index",
    edits: [
      ["signing_secret: Secret", "signing_secret: Schema.String"],
      ["credentials: { signing_secret },", ""],
    ],
    check: "keeps its secrets where the gateway can see them",
    says: "A secret of the configuration is no `Secret` and not among `credentials`: the gateway could not take it out of what a host says",
  },
  {
    plugin: "signedLike",
    fault: "no secret is a throw",
    file: "index",
    edits: [[`return new HostFailed({ reason: "account" })`, `throw new Error("no secret")`]],
    check: "sign() fails as a host where it cannot sign",
    says: `sign() without credentials throws "Error: no secret": it has to give a HostFailed`,
  },
]
