/** The console: a page of the gateway that calls the gateway's documented API. */
import { render } from "preact"
import { App } from "./shell/App.tsx"
import { startClock } from "./state/clock.ts"
import { followAddress } from "./state/router.ts"
import { askSession, followSession } from "./state/session.ts"

followAddress()
followSession()
startClock()
void askSession()

const root = document.getElementById("console")
if (root !== null) render(<App />, root)
