/** Finds what Anthropic's Messages API cannot carry, before anything is translated. */

import { Unsupported } from "../../domain/failures/Failure.ts"
import type { ContentPart, Message } from "../../domain/request/chat.ts"
import { embeddedIn, isText, isWebAddress } from "./writeMessagesContent.ts"

/** The first part of a conversation that the host would refuse; `undefined` when there is none. */
export const unsupportedIn = (messages: ReadonlyArray<Message>): Unsupported | undefined => {
  for (const [at, message] of messages.entries()) {
    const { content } = message
    if (Array.isArray(content)) {
      for (const [place, part] of content.entries()) {
        const reason = reasonAgainst(part)
        if (reason !== undefined) return new Unsupported({ path: `messages[${at}].content[${place}]`, reason })
      }
    }
    if (message.role !== "assistant") continue
    const foreign = (message.tool_calls ?? []).findIndex((call) => call.function === undefined)
    if (foreign !== -1) {
      const reason = "this host takes calls of functions only"
      return new Unsupported({ path: `messages[${at}].tool_calls[${foreign}]`, reason })
    }
  }
  return undefined
}

const reasonAgainst = (part: ContentPart): string | undefined => {
  switch (part.type) {
    case "input_audio":
      return "this host takes no audio"
    case "video_url":
    case "input_video":
      return "this host takes no video"
    case "file": {
      const { file_data: data } = part.file
      if (data == null || isWebAddress(data)) return undefined
      const { mediaType } = embeddedIn(data)
      const carried = mediaType === "application/pdf" || mediaType.startsWith("image/") || isText(mediaType)
      return carried ? undefined : "this host takes only PDF, text and images as files"
    }
    default:
      return undefined
  }
}
