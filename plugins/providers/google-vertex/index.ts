/**
 * Google's Vertex AI. It is called with an access token: of a service account, for which tokens are fetched, or one that the
 * operator gives as `api_key`.
 */
import * as Schema from "effect/Schema"
import { defineProvider, Secret } from "headgate/plugin"

/** Letters that cannot change the address that they become a part of. */
const Name = Schema.String.pipe(Schema.pattern(/^[a-z0-9](?:[a-z0-9.:-]*[a-z0-9])?$/))

export const VertexConfig = Schema.Struct({
  project: Schema.optionalWith(Name, { exact: true }).annotations({
    description: "Id of the project. Default: that of the service account.",
  }),
  location: Schema.optionalWith(Name, { exact: true, default: () => "global" }).annotations({
    description: 'Where the models run, such as `us-central1`. "global": wherever there is capacity.',
    default: "global",
  }),
  credentials: Schema.optionalWith(Secret, { exact: true }).annotations({
    description:
      "Key of a service account: the path of its file, or the JSON in it. Without it, `api_key` is an access token.",
  }),
})

// From Google's pages on Vertex AI, its locations, authentication and data governance, read in 2026-11.
export default defineProvider({
  id: "google-vertex",
  name: "Google Vertex",
  authors: ["google"],
  variables: {
    project: ["GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"],
    location: ["GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION"],
    credentials: ["GOOGLE_VERTEX_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"],
  },
  // The usual variables of Google's own libraries are also set for other services, so a project has to be named besides.
  files: ["credentials"],
  discoveredBy: [
    ["GOOGLE_VERTEX_CREDENTIALS"],
    ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_VERTEX_PROJECT"],
    ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"],
  ],
  // No training without permission; prompts are cached for a day, and kept to find abuse.
  privacy: { mayTrain: false, retainsPrompts: true },
  config: VertexConfig,
  load: async (config) => (await import("./provider.ts")).provider(config),
})
