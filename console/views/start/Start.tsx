import { Page } from "../../components/layout.tsx"

const Start = () => <Page title="Start">…</Page>

export default Start
