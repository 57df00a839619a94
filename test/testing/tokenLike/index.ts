/** A vendor with OAuth: a token for a client's secret, one for all requests until it ends. Its address depends on a region. */
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, httpError, noAuth, Secret } from "headgate/plugin"
import { tokenSource } from "./token.ts"

export default defineProvider({
  id: "token-like",
  name: "Token-like",
  auth: noAuth,
  config: Schema.Struct({ region: Schema.String, client_id: Schema.String, client_secret: Secret }),
  load: ({ region, client_id, client_secret }) => {
    const token = tokenSource(`https://login.${region}.token.example/oauth`, client_id)
    return {
      protocols: { chat: chatProtocol() },
      error: httpError,
      baseUrl: `https://${region}.token.example/v1`,
      credentials: { client_secret },
      sign: token,
    }
  },
})
