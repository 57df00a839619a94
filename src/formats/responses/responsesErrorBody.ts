/** Error bodies of the Responses format. */
import { chatError } from "../errorBody.ts"
import type { Rendered } from "../Rendered.ts"

/**
 * The whole body of the Responses format: that of the chat format, plus the error type where its clients look for it.
 */
export const responsesErrorBody = (rendered: Rendered) => ({
  error: { ...chatError(rendered), type: rendered.errorType },
})
