/**
 * Bedrock's Converse API: one form for the models of all vendors, streamed as Amazon's event stream. It resembles
 * Anthropic's Messages API, but every block is an object with one member, and what only some models know travels in
 * `additionalModelRequestFields`. From the API reference of Converse and ConverseStream, read in 2026-11.
 */
import type { Protocol } from "headgate/plugin"
import { converseAnswer, converseDecoder } from "./converse/converseAnswer.ts"
import { encodeConverse } from "./converse/converseRequest.ts"
import { familyOf } from "./model.ts"

export const converse: Protocol = {
  framing: "aws-eventstream",
  passes: ["thinking"],
  encode: encodeConverse,
  decode: (_head, body, { host }) => converseAnswer(body, familyOf(host)),
  decoder: (_head, { host }) => converseDecoder(familyOf(host)),
}
