/** The first import of `serve.ts`: what is started while the rest of the program is loaded. */
import { ThreadAhead } from "../../sql/sqlite/startThread.ts"

export const threadAhead = new ThreadAhead()
