/** The first import of `serve.ts`: what is started while the rest of the program is loaded. */
import { ThreadAhead } from "../../sql/sqlite/startThread.ts"

/** What the variable says is not checked yet; a flag wins over it. */
const namesAnotherStorage = /^(memory|postgres(ql)?):/.test(process.env["HEADGATE_STORAGE"] ?? "")

export const threadAhead = new ThreadAhead(!namesAnotherStorage)
