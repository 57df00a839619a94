import type { ProviderPlugin } from "headgate/plugin"
import type { ProviderSubject } from "headgate/testing"
import { chatAnswer, stream } from "../tokenLike/subject.ts"

export const subjectOf = (plugin: ProviderPlugin): ProviderSubject => ({
  plugin,
  config: { signing_secret: "a-secret-to-sign-with-99" },
  answer: chatAnswer,
  streams: [{ name: "words", bytes: stream, expects: { text: "hi there", finishReason: "stop" } }],
})
