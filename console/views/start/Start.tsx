import { Page } from "../../components/layout.tsx"
import { FirstSteps } from "./FirstSteps.tsx"

/** The first steps at an address of their own, also when they are done. */
const Start = () => (
  <Page title="First steps" intro="From an empty gateway to the first answer.">
    <FirstSteps />
  </Page>
)

export default Start
