/** The console: a page of the gateway that calls the gateway's documented API. */
import { render } from "preact"
import { App } from "./shell/App.tsx"
import { preload } from "./shell/place.ts"
import { startClock } from "./state/clock.ts"
import { followAddress } from "./state/router.ts"
import { askSession, followSession } from "./state/session.ts"

followAddress()
followSession()
startClock()
void askSession()
// While the gateway is asked who is signed in, the view is loaded that they will most likely see.
preload()

const root = document.getElementById("console")
if (root !== null) render(<App />, root)
