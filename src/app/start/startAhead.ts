/** The first import of `serve.ts`: what is started while the rest of the program is loaded. */
import { startThreadAhead } from "../../sql/sqlite/startThread.ts"

startThreadAhead()
