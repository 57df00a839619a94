import { matching } from "../../domain/json/checks.ts"

/** Of an image or another file that a message refers to. (A JSON Schema cannot ignore case, so the pattern says it.) */
export const mediaUrl = matching(
  /^(?:[hH][tT][tT][pP][sS]?:\/\/|[dD][aA][tT][aA]:)./,
  "must be an http(s) URL or a data URL",
)
