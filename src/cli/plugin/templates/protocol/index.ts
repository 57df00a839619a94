/** Vendor Name, which has a protocol of its own. Facts: the vendor's documentation, read on the day this was written. */
import * as Schema from "effect/Schema"
import { authHeader, defineProvider } from "headgate/plugin"

export default defineProvider({
  id: "vendor-name",
  name: "Vendor Name",
  baseUrl: "https://api.vendor-name.example/v1",
  auth: authHeader("x-vendor-key"),
  keyVariable: "VENDOR_NAME_API_KEY",
  config: Schema.Struct({}),
  // Imported when the provider is on: a gateway without it does not load the protocol.
  load: async () => (await import("./provider.ts")).provider,
})
