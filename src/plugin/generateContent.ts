/**
 * What plugin authors import for hosts that speak Google's `generateContent`: `headgate/plugin/generate-content`. It stands apart
 * from `headgate/plugin`, so that it is loaded only where such a host is on. See docs/decisions/0028-googles-protocol.md.
 */
export {
  embedContentProtocol,
  type GenerateContentOptions,
  type GenerateContentProtocol,
  generateContentProtocol,
  vertexEmbeddingsProtocol,
} from "../formats/generateContent/generateContentHost.ts"
